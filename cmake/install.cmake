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
  # The documents of a package, with links that lead to installed files.
  file(GLOB_RECURSE blis_documents RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
    docs/*.md examples/*.md share/*.md)
  list(APPEND blis_documents README.md CHANGELOG.md)
  list(FILTER blis_documents EXCLUDE REGEX "^docs/coverage")
  add_custom_command(OUTPUT ${blis_pages}/documents.written
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${blis_pages}/documents
    COMMAND blis -E ${PROJECT_SOURCE_DIR}/scripts/site/documents.lua ${blis_pages}/documents
      ${blis_documents}
    COMMAND ${CMAKE_COMMAND} -E touch ${blis_pages}/documents.written
    DEPENDS blis scripts/site/documents.lua scripts/site/links.lua ${blis_documents}
    COMMENT "Writing ${blis_pages}/documents" VERBATIM)
  list(APPEND blis_written ${blis_pages}/documents.written)
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
  install(DIRECTORY ${blis_pages}/documents/share/ DESTINATION ${CMAKE_INSTALL_DATADIR})
  install(FILES ${blis_annotations}/options.lua ${blis_annotations}/figures.lua
    DESTINATION ${CMAKE_INSTALL_DATADIR}/lua/5.4/blis/meta)
endif()

install(TARGETS blis RUNTIME)
install(TARGETS blis_module LIBRARY DESTINATION lib/lua/5.4/blis)
install(DIRECTORY lua/blis DESTINATION ${CMAKE_INSTALL_DATADIR}/lua/5.4
  FILES_MATCHING PATTERN "*.lua")
install(FILES LICENSE NOTICE TYPE DOC)
install(FILES NOTICE RENAME copyright TYPE DOC) # where Debian looks for it
set(blis_not_copied PATTERN "coverage.*" EXCLUDE)
if(CMAKE_CROSSCOMPILING)
  install(FILES README.md CHANGELOG.md TYPE DOC)
else()
  list(APPEND blis_not_copied PATTERN "*.md" EXCLUDE) # they are among the documents
endif()
install(DIRECTORY docs examples TYPE DOC ${blis_not_copied})
install(DIRECTORY share/ DESTINATION ${CMAKE_INSTALL_DATADIR}/blis
  ${blis_not_copied} PATTERN "__pycache__" EXCLUDE)
