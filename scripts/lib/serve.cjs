// node serve.cjs FOLDER PORT [documentation]: serves the files below a folder on loopback, and
// prints the address when it listens. Port 0 is any free port. The pages of the documentation have
// inline scripts and styles and a search with a function of its settings, and one page frames the
// playground; all pages load only from this server.
"use strict";
const fs = require("fs");
const http = require("http");
const path = require("path");

const [folder, port, kind] = process.argv.slice(2);
const root = path.resolve(folder);
const types = {
  ".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".lua": "text/plain",
  ".json": "application/json", ".png": "image/png", ".svg": "image/svg+xml",
  ".tsv": "text/plain", ".txt": "text/plain; charset=utf-8", ".wasm": "application/wasm",
  ".woff2": "font/woff2",
};
const isDocumentation = kind === "documentation";
const inline = isDocumentation ? " 'unsafe-inline'" : "";
// The page of the playground has the same policy; this one is for its workers.
const policy = `default-src 'none'; script-src 'self' 'wasm-unsafe-eval'${inline}`
  + `${isDocumentation ? " 'unsafe-eval'" : ""}; `
  + `style-src 'self'${inline}; connect-src 'self'; worker-src 'self'; `
  + `img-src 'self'${isDocumentation ? " data:; font-src 'self'; frame-src 'self'" : ""}; `
  + "base-uri 'none'; form-action 'none'; "
  + `frame-ancestors '${isDocumentation ? "self" : "none"}'`;

http.createServer((request, response) => {
  const wanted = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
  const file = path.join(root, wanted.endsWith("/") ? wanted + "index.html" : wanted);
  if (!file.startsWith(root + path.sep) || !fs.statSync(file, { throwIfNoEntry: false })?.isFile()) {
    response.writeHead(404).end("not found\n");
    return;
  }
  response.writeHead(200, {
    "Content-Type": types[path.extname(file)] ?? "application/octet-stream",
    "Content-Security-Policy": policy, "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
  });
  fs.createReadStream(file).pipe(response);
}).listen(Number(port), "127.0.0.1", function () {
  console.log(`http://127.0.0.1:${this.address().port}/`);
});
