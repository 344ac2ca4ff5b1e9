package main

import (
	"context"
	"crypto/md5" // the only digest that nginx checks links with
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sortie-labs/sortie/internal/porttest"
)

// nginx is the limit for media: it serves files from the disk through signed links that expire, and
// does nothing else. It runs in one process, as the user of the benchmark, on files of the product.

const nginxSecret = "not secret in a benchmark"

// nginxConfig has the settings of common packages where they differ from what nginx does without
// any, keeps connections as long as the product does, and writes no log, as the product does not
// for requests that went well.
const nginxConfig = `daemon off;
master_process off;
pid %[1]s/nginx.pid;
error_log stderr warn;
events { worker_connections 1024; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  types { }
  default_type image/jpeg;
  keepalive_timeout 120s;
  keepalive_requests 1000000000;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi;
  scgi_temp_path %[1]s/scgi;
  server {
    listen %[2]s backlog=1024;
    root %[3]s;
    location = /readyz { return 200; }
    location / {
      secure_link $arg_sig,$arg_exp;
      secure_link_md5 "$secure_link_expires$uri %[4]s";
      if ($secure_link = "") { return 403; }
      if ($secure_link = "0") { return 410; }
    }
  }
}
`

// startNginx serves the files below root.
func (b *bench) startNginx(ctx context.Context, root string) (*process, error) {
	address, release, err := porttest.Hold()
	if err != nil {
		return nil, err
	}
	defer release() // nginx listens by then
	home, err := filepath.Abs(b.path("nginx"))
	if err != nil {
		return nil, err
	}
	if root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	config := filepath.Join(home, "nginx.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, nginxConfig, home, address, root, nginxSecret), 0o600); err != nil {
		return nil, err
	}
	return startAt(ctx, address, b.nginx, "-p", home, "-e", "stderr", "-c", config)
}

// nginxLink is the target of a request for a file, signed for an hour.
func nginxLink(path string) string {
	expires := time.Now().Add(time.Hour).Unix()
	sum := md5.Sum(fmt.Appendf(nil, "%d%s %s", expires, path, nginxSecret))
	return fmt.Sprintf("%s?exp=%d&sig=%s", path, expires, strings.TrimRight(base64.URLEncoding.EncodeToString(sum[:]), "="))
}
