# The program as WebAssembly, for web/: the same sources, but for what a browser
# does not have, which src/web/ stands in for.

# blis_adapt_to_web(<variable>): takes the stand-ins instead of the files whose
# functions they have.
macro(blis_adapt_to_web variable)
  list(FILTER ${variable} EXCLUDE REGEX "/src/lua/files/sqlite\\.c$")
  list(FILTER ${variable} EXCLUDE REGEX "/src/lua/workers/worker_p[a-z]+\\.c$")
  file(GLOB stand_ins CONFIGURE_DEPENDS src/web/*.c)
  list(APPEND ${variable} ${stand_ins})
endmacro()

# blis_leave_lua_as_text(<variable> <symbol>): no chunks. They would be half of
# the file, and a page reads few of the texts.
function(blis_leave_lua_as_text variable symbol)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/generated/${symbol}.c)
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT
    "#include \"lua/bind/embedded.h\"\n\nconst blis_embedded_table ${symbol} = {0, 0};\n")
  set(${variable} ${output} PARENT_SCOPE)
endfunction()

# blis.js and blis.wasm: a function that makes a program, which is run with
# callMain and has its files in memory.
function(blis_make_web_page)
  target_link_options(blis PRIVATE
    -sMODULARIZE -sEXPORT_NAME=blis -sENVIRONMENT=worker,node -sINVOKE_RUN=0
    -sEXIT_RUNTIME=1 -sEXPORTED_RUNTIME_METHODS=callMain,FS
    -sALLOW_MEMORY_GROWTH -sMAXIMUM_MEMORY=2GB -sDYNAMIC_EXECUTION=0)
endfunction()
