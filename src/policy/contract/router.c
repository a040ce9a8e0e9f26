#include "policy/contract/router.h"

void blis_router_free(blis_router *router) {
  if (router->ops != NULL && router->ops->free != NULL) {
    router->ops->free(&router->alloc, router->state);
  }
  *router = (blis_router){0};
}
