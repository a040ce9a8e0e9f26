# What `cmake --install` puts down: the program, the module for stock lua5.4 and
# its Lua files (with the annotations for editors), pages and completions that
# the program writes itself, documents and examples.

set(blis_pages ${CMAKE_CURRENT_BINARY_DIR}/pages)
set(blis_page_files)

# blis_page(<file> <argument>...): what the program prints, as a file.
function(blis_page file)
  add_custom_command(OUTPUT ${blis_pages}/${file}
    COMMAND blis -E ${ARGN} > ${file}
    DEPENDS blis
    WORKING_DIRECTORY ${blis_pages}
    COMMENT "Writing ${file}" VERBATIM)
  set(blis_page_files ${blis_page_files} ${blis_pages}/${file} PARENT_SCOPE)
endfunction()

if(NOT CMAKE_CROSSCOMPILING)
  file(MAKE_DIRECTORY ${blis_pages})
  blis_page(blis.1 man)
  blis_page(blis.bash completion bash)
  blis_page(_blis completion zsh)
  blis_page(blis.fish completion fish)
  add_custom_target(blis_pages ALL DEPENDS ${blis_page_files})

  install(FILES ${blis_pages}/blis.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${blis_pages}/blis.bash RENAME blis
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${blis_pages}/blis.fish
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  # Where zsh looks by itself: Debian's packages have a folder of their own.
  install(CODE "
    set(folder site-functions)
    if(CMAKE_INSTALL_PREFIX STREQUAL /usr AND EXISTS /etc/debian_version)
      set(folder vendor-completions)
    endif()
    file(INSTALL ${blis_pages}/_blis DESTINATION
      \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${folder})")
endif()

install(TARGETS blis RUNTIME)
install(TARGETS blis_module LIBRARY DESTINATION lib/lua/5.4/blis)
install(DIRECTORY lua/blis DESTINATION ${CMAKE_INSTALL_DATADIR}/lua/5.4
  FILES_MATCHING PATTERN "*.lua")
install(FILES README.md CHANGELOG.md LICENSE NOTICE lua/reference.md
  TYPE DOC)
install(FILES NOTICE RENAME copyright TYPE DOC) # where Debian looks for it
install(DIRECTORY docs examples TYPE DOC
  PATTERN "coverage.*" EXCLUDE)
install(DIRECTORY share/ DESTINATION ${CMAKE_INSTALL_DATADIR}/blis
  PATTERN "__pycache__" EXCLUDE)
