# What `cmake --install` installs: the program, the module for stock lua5.4 with
# its Lua files, the documents, the examples, and the text that the program
# generates: the manual page, the completions, the reference, and the
# annotations for editors. The build writes that text, and git does not keep it.

set(blis_pages ${CMAKE_CURRENT_BINARY_DIR}/pages)
set(blis_annotations ${CMAKE_CURRENT_BINARY_DIR}/annotations)
set(blis_written)

# blis_write(<file> <argument>...): adds the file that `blis <argument>...`
# prints. The file appears under its name only when it is complete.
function(blis_write file)
  add_custom_command(OUTPUT ${file}
    COMMAND blis -E ${ARGN} > ${file}.part
    COMMAND ${CMAKE_COMMAND} -E rename ${file}.part ${file}
    DEPENDS blis
    COMMENT "Writing ${file}" VERBATIM)
  set(blis_written ${blis_written} ${file} PARENT_SCOPE)
endfunction()

if(NOT CMAKE_CROSSCOMPILING)
  file(MAKE_DIRECTORY ${blis_pages} ${blis_annotations})
  blis_write(${blis_pages}/blis.1 man)
  blis_write(${blis_pages}/blis.bash completion bash)
  blis_write(${blis_pages}/_blis completion zsh)
  blis_write(${blis_pages}/blis.fish completion fish)
  blis_write(${blis_pages}/reference.md help all --format markdown)
  # .luarc.json names this folder, so editors find the annotations after a build.
  blis_write(${blis_annotations}/options.lua
    -e "io.write(require('blis.config.annotations').generate())")
  blis_write(${blis_annotations}/figures.lua
    -e "io.write(require('blis.results.annotations').generate())")
  add_custom_target(blis_pages ALL DEPENDS ${blis_written})

  install(FILES ${blis_pages}/blis.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${blis_pages}/blis.bash RENAME blis
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${blis_pages}/blis.fish
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  # zsh of Debian reads the completions of packages from a separate folder.
  install(CODE "
    set(folder site-functions)
    if(CMAKE_INSTALL_PREFIX STREQUAL /usr AND EXISTS /etc/debian_version)
      set(folder vendor-completions)
    endif()
    file(INSTALL ${blis_pages}/_blis DESTINATION
      \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${folder})")
  install(FILES ${blis_pages}/reference.md TYPE DOC)
  install(FILES ${blis_annotations}/options.lua ${blis_annotations}/figures.lua
    DESTINATION ${CMAKE_INSTALL_DATADIR}/lua/5.4/blis/meta)
endif()

install(TARGETS blis RUNTIME)
install(TARGETS blis_module LIBRARY DESTINATION lib/lua/5.4/blis)
install(DIRECTORY lua/blis DESTINATION ${CMAKE_INSTALL_DATADIR}/lua/5.4
  FILES_MATCHING PATTERN "*.lua")
install(FILES README.md CHANGELOG.md LICENSE NOTICE TYPE DOC)
install(FILES NOTICE RENAME copyright TYPE DOC) # where Debian looks for it
install(DIRECTORY docs examples TYPE DOC
  PATTERN "coverage.*" EXCLUDE)
install(DIRECTORY share/ DESTINATION ${CMAKE_INSTALL_DATADIR}/blis
  PATTERN "__pycache__" EXCLUDE)
