# What `cpack -G DEB` makes of what is installed; scripts/package calls it.

set(CPACK_PACKAGE_NAME blis)
set(CPACK_PACKAGE_VENDOR "the authors of blis")
set(CPACK_PACKAGE_VERSION ${BLIS_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
  "deterministic, scriptable simulator of LLM inference clusters")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)

# 1.0.0~rc1 sorts before 1.0.0.
string(REPLACE "-" "~" CPACK_DEBIAN_PACKAGE_VERSION "${BLIS_VERSION}")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The authors of blis <blis@localhost>")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS lua5.4)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Routers, admission, schedulers and scaling of clusters that serve large
language models, simulated in milliseconds: policies are a few lines of Lua,
and the same seed gives the same bytes everywhere.")

include(CPack)
