package blob_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sortie-labs/sortie/internal/porttest"
	"github.com/sortie-labs/sortie/internal/s3"
)

// The S3 server that the bucket is tested on. It is built once, into the user's cache.
const (
	versitygw        = "github.com/versity/versitygw/cmd/versitygw"
	versitygwVersion = "v1.8.0"
	accessKey        = "sortie-test"
	secretKey        = "sortie-test-secret"
	bucketName       = "media"
)

// patience is how long a test waits for what should take milliseconds. It only decides how late a
// failure is reported.
const patience = 3 * time.Minute

// s3Server is a running S3 server with one bucket in it.
type s3Server struct {
	address  string
	release  func() // of the address
	process  *exec.Cmd
	lifeline io.Closer
	dir      string
	log      bytes.Buffer
}

// supervisor runs a server until its standard input ends: a killed test run leaves no server.
const supervisor = `dir=$1; shift
"$@" </dev/null & server=$!
cat >/dev/null
kill -9 $server 2>/dev/null; wait $server
rm -rf "$dir"`

var (
	startOnce   sync.Once
	sharedS3    *s3Server
	sharedError error
)

// s3Address is the address of the server that the tests share.
func s3Address(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: needs an S3 server")
	}
	startOnce.Do(func() { sharedS3, sharedError = startS3() })
	if sharedError != nil {
		t.Fatal(sharedError)
	}
	return sharedS3.address
}

func stopServers() {
	if sharedS3 != nil {
		sharedS3.stop()
	}
}

func startS3() (*s3Server, error) {
	binary, err := buildS3()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sortie-s3-")
	if err != nil {
		return nil, err
	}
	for _, part := range []string{"data", "sidecar"} {
		if err := os.Mkdir(filepath.Join(dir, part), 0o700); err != nil {
			return nil, err
		}
	}
	server := &s3Server{dir: dir}
	if server.address, server.release, err = porttest.Hold(); err != nil {
		return nil, err
	}
	server.process = exec.Command("/bin/sh", "-c", supervisor, "sh", dir, binary, "--port", server.address, "--quiet",
		"posix", "--sidecar", filepath.Join(dir, "sidecar"), filepath.Join(dir, "data"))
	server.process.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+accessKey, "ROOT_SECRET_KEY="+secretKey)
	server.process.Stdout, server.process.Stderr = &server.log, &server.log
	if server.lifeline, err = server.process.StdinPipe(); err != nil {
		return nil, err
	}
	if err := server.process.Start(); err != nil {
		return nil, err
	}
	if err := server.makeBucket(); err != nil {
		server.stop()
		return nil, fmt.Errorf("%w; the server said: %s", err, server.log.Bytes())
	}
	return server, nil
}

func (s *s3Server) stop() {
	_ = s.lifeline.Close()
	_ = s.process.Wait()
	s.release()
}

// buildS3 gives the path of the server's program.
func buildS3() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "sortie-test", "versitygw-"+versitygwVersion)
	binary := filepath.Join(dir, "versitygw")
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	build := exec.Command("go", "install", versitygw+"@"+versitygwVersion)
	build.Env = append(os.Environ(), "GOBIN="+dir)
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the S3 server for the tests: %w: %s", err, output)
	}
	return binary, nil
}

// makeBucket makes the bucket as soon as the server listens.
func (s *s3Server) makeBucket() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond) // it cannot tell us when it is ready
	defer again.Stop()
	for {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", s.address)
		if err == nil {
			_ = connection.Close()
			break
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
	client, err := s3.New(s3.Config{
		Bucket: bucketName, Endpoint: &url.URL{Scheme: "http", Host: s.address}, PathStyle: true,
		Credentials: func(context.Context) (s3.Credentials, error) {
			return s3.Credentials{AccessKey: accessKey, SecretKey: secretKey}, nil
		},
	})
	if err != nil {
		return err
	}
	defer client.Close()
	return client.CreateBucket(ctx)
}

func bucketURL(address string) string {
	return "s3://" + bucketName + "?region=us-east-1&use_path_style=true&endpoint=" + url.QueryEscape("http://"+address)
}

// The credentials of the AWS tools come from the environment, which is the whole process's.
func init() {
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey, "AWS_EC2_METADATA_DISABLED": "true"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
}
