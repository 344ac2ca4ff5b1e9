package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestSignaturesAreThoseOfAmazonsDocumentation uses the examples of "Signature Calculations for the
// Authorization Header" in Amazon's S3 documentation.
func TestSignaturesAreThoseOfAmazonsDocumentation(t *testing.T) {
	t.Parallel()
	by := Credentials{AccessKey: "AKIAIOSFODNN7EXAMPLE", SecretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	at := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		method, path, query, body, want string
		header                          http.Header
	}{
		"get a range": {method: "GET", path: "/test.txt", header: http.Header{"Range": {"bytes=0-9"}}, want: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
		"put with a path to escape": {
			method: "PUT", path: "/test$file.text", body: "Welcome to Amazon S3.",
			header: http.Header{"Date": {"Fri, 24 May 2013 00:00:00 GMT"}, "X-Amz-Storage-Class": {"REDUCED_REDUNDANCY"}},
			want:   "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
		},
		"list with a query": {method: "GET", path: "/", query: "max-keys=2&prefix=J", want: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
	} {
		request := &http.Request{Method: c.method, Header: http.Header{}, URL: &url.URL{
			Scheme: "https", Host: "examplebucket.s3.amazonaws.com", Path: c.path, RawPath: escapePath(c.path), RawQuery: c.query,
		}}
		for header, values := range c.header {
			request.Header[header] = values
		}
		sign(request, by, "us-east-1", "s3", hexSum([]byte(c.body)), at)
		if got := request.Header.Get("Authorization"); !strings.HasSuffix(got, "Signature="+c.want) {
			t.Errorf("%s: got %s, want the signature %s", name, got, c.want)
		}
	}
}

func TestHostsOfBuckets(t *testing.T) {
	t.Parallel()
	other := &url.URL{Scheme: "http", Host: "s3.example:9000", Path: "/storage/"}
	for want, config := range map[string]Config{
		"https://b.s3.eu-north-1.amazonaws.com":           {Bucket: "b", Region: "eu-north-1"},
		"http://b.s3.eu-north-1.amazonaws.com":            {Bucket: "b", Region: "eu-north-1", PlainHTTP: true},
		"https://s3.eu-north-1.amazonaws.com/b":           {Bucket: "b", Region: "eu-north-1", PathStyle: true},
		"https://s3.eu-north-1.amazonaws.com/b.c":         {Bucket: "b.c", Region: "eu-north-1"},
		"https://b.s3.cn-north-1.amazonaws.com.cn":        {Bucket: "b", Region: "cn-north-1"},
		"https://b.s3-fips.dualstack.r.amazonaws.com":     {Bucket: "b", Region: "r", FIPS: true, Dualstack: true},
		"https://b.s3-accelerate.amazonaws.com":           {Bucket: "b", Region: "r", Accelerate: true},
		"http://b.s3.example:9000/storage":                {Bucket: "b", Region: "r", Endpoint: other},
		"http://s3.example:9000/storage/b":                {Bucket: "b", Region: "r", Endpoint: other, PathStyle: true},
		"https://b.s3-accelerate.dualstack.amazonaws.com": {Bucket: "b", Region: "r", Accelerate: true, Dualstack: true},
	} {
		if base := config.base(); base.String() != want {
			t.Errorf("got %s, want %s", base.String(), want)
		}
	}
	if _, err := New(Config{Bucket: "b"}); err == nil || !strings.Contains(err.Error(), "region") {
		t.Errorf("a client without a region: got error %v, want one about the region", err)
	}
}

func testClient(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	endpoint, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	client, err := New(Config{Bucket: "b", Endpoint: endpoint, PathStyle: true, Credentials: Anonymous})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func TestRequestsAreRepeatedWhileTheFailureMayPass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ status, failures, sent int }{
		{http.StatusServiceUnavailable, 2, 3}, {http.StatusTooManyRequests, 1, 2}, {http.StatusInternalServerError, 9, 3},
		{http.StatusForbidden, 9, 1}, {http.StatusNotFound, 9, 1}, {http.StatusNotImplemented, 9, 1},
	} {
		var sent atomic.Int64
		client := testClient(t, func(w http.ResponseWriter, r *http.Request) {
			if body, err := io.ReadAll(r.Body); err != nil || string(body) != "content" {
				t.Errorf("the body is %q (%v), want content", body, err)
			}
			if int(sent.Add(1)) <= c.failures {
				w.WriteHeader(c.status)
				fmt.Fprint(w, "<Error><Code>Busy</Code><Message>later</Message></Error>")
			}
		})
		err := client.Put(t.Context(), "key", []byte("content"))
		if int(sent.Load()) != c.sent {
			t.Errorf("status %d, %d times: sent %d times, want %d", c.status, c.failures, sent.Load(), c.sent)
		}
		var answer *Error
		if c.failures >= c.sent && (!errors.As(err, &answer) || answer.Status != c.status || answer.Code != "Busy") {
			t.Errorf("status %d, %d times: got error %v, want the status and the code Busy", c.status, c.failures, err)
		} else if c.failures < c.sent && err != nil {
			t.Errorf("status %d, %d times: got error %v, want none", c.status, c.failures, err)
		}
	}
}

func TestAnErrorWithStatus200FailsTheUpload(t *testing.T) {
	t.Parallel()
	client := testClient(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Has("uploads"):
			fmt.Fprint(w, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
		case r.Method == http.MethodPost:
			fmt.Fprint(w, `<?xml version="1.0"?> <Error><Code>InternalError</Code></Error>`)
		}
	})
	upload, err := client.NewUpload(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	if err := upload.Add(t.Context(), []byte("part")); err != nil {
		t.Fatal(err)
	}
	var answer *Error
	if err := upload.Complete(t.Context()); !errors.As(err, &answer) || answer.Code != "InternalError" {
		t.Errorf("got error %v, want InternalError", err)
	}
}

func TestListsAreReadPageByPage(t *testing.T) {
	t.Parallel()
	client := testClient(t, func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if query.Get("prefix") != "p/" || query.Get("start-after") != "p/0" {
			t.Errorf("the query is %v, want prefix p/ and start-after p/0", query)
		}
		if query.Get("continuation-token") == "" {
			fmt.Fprint(w, "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>a+b/=</NextContinuationToken><Contents><Key>p/1</Key></Contents></ListBucketResult>")
		} else {
			fmt.Fprint(w, "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>p/2</Key></Contents></ListBucketResult>")
		}
	})
	var keys []string
	for key, err := range client.List(t.Context(), "p/", "p/0", time.Minute) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	if got := strings.Join(keys, " "); got != "p/1 p/2" {
		t.Errorf("got %q, want p/1 p/2", got)
	}
}

// clearEnvironment removes every variable that is a source of credentials, for the time of a test.
func clearEnvironment(t *testing.T) {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

func TestSourcesOfCredentials(t *testing.T) {
	const document = `{"AccessKeyId":"A","SecretAccessKey":"S","Token":"T","Expiration":"2100-01-01T00:00:00Z"}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/container" && r.Header.Get("Authorization") == "permit":
			fmt.Fprint(w, document)
		case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token":
			fmt.Fprint(w, "session")
		case r.Header.Get("X-Aws-Ec2-Metadata-Token") == "session" && strings.HasSuffix(r.URL.Path, "/security-credentials/"):
			fmt.Fprint(w, "role\n")
		case r.Header.Get("X-Aws-Ec2-Metadata-Token") == "session" && strings.HasSuffix(r.URL.Path, "/security-credentials/role"):
			fmt.Fprint(w, document)
		case r.FormValue("WebIdentityToken") == "permit" && r.FormValue("RoleArn") == "arn:role":
			fmt.Fprint(w, "<R><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>S</SecretAccessKey>"+
				"<SessionToken>T</SessionToken><Expiration>2100-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult></R>")
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	permit, file := filepath.Join(dir, "permit"), filepath.Join(dir, "credentials")
	for path, content := range map[string]string{
		permit: "permit", file: "[default]\naws_access_key_id=wrong\n\n[mine]\n aws_access_key_id = A\naws_secret_access_key=S\naws_session_token = T\n",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		profile   string
		variables map[string]string
	}{
		"environment":           {variables: map[string]string{"AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "S", "AWS_SESSION_TOKEN": "T"}},
		"profile by parameter":  {profile: "mine", variables: map[string]string{"AWS_SHARED_CREDENTIALS_FILE": file, "AWS_ACCESS_KEY_ID": "other", "AWS_SECRET_ACCESS_KEY": "other"}},
		"profile by variable":   {variables: map[string]string{"AWS_SHARED_CREDENTIALS_FILE": file, "AWS_PROFILE": "mine"}},
		"container, token":      {variables: map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": server.URL + "/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "permit"}},
		"container, token file": {variables: map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": server.URL + "/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": permit}},
		"machine":               {variables: map[string]string{"AWS_EC2_METADATA_DISABLED": "", "AWS_EC2_METADATA_SERVICE_ENDPOINT": server.URL}},
		"web identity":          {variables: map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": permit, "AWS_ROLE_ARN": "arn:role", "AWS_ENDPOINT_URL_STS": server.URL}},
	} {
		t.Run(name, func(t *testing.T) {
			clearEnvironment(t)
			for name, value := range c.variables {
				t.Setenv(name, value)
			}
			found, err := FindCredentials(c.profile, "r")(t.Context())
			if err != nil || found.AccessKey != "A" || found.SecretKey != "S" || found.SessionToken != "T" {
				t.Errorf("got %+v, error %v, want A, S and T", found, err)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		clearEnvironment(t)
		if found, err := FindCredentials("", "r")(t.Context()); err == nil || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
			t.Errorf("got %+v, error %v, want an error that names AWS_ACCESS_KEY_ID", found, err)
		}
	})
}

func TestCredentialsAreRenewedBeforeTheyExpire(t *testing.T) {
	t.Parallel()
	asked, life := 0, time.Hour
	provider := cached(func(context.Context) (Credentials, error) {
		asked++
		return Credentials{AccessKey: "A", Expires: time.Now().Add(life)}, nil
	})
	for _, c := range []struct {
		life time.Duration
		want int
	}{{time.Hour, 1}, {time.Hour, 1}} {
		life = c.life
		if _, err := provider(t.Context()); err != nil || asked != c.want {
			t.Errorf("asked %d times (%v), want %d", asked, err, c.want)
		}
	}
	asked, life = 0, time.Minute
	provider = cached(func(context.Context) (Credentials, error) {
		asked++
		return Credentials{AccessKey: "A", Expires: time.Now().Add(life)}, nil
	})
	for want := 1; want <= 2; want++ {
		if _, err := provider(t.Context()); err != nil || asked != want {
			t.Errorf("credentials about to expire: asked %d times (%v), want %d", asked, err, want)
		}
	}
}

func TestAStuckRenewalHoldsNoCallerLongerThanItsContext(t *testing.T) {
	t.Parallel()
	release, asked := make(chan struct{}), make(chan struct{})
	provider := cached(func(ctx context.Context) (Credentials, error) {
		close(asked)
		<-release
		return Credentials{AccessKey: "A"}, ctx.Err()
	})
	leaving, leave := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := provider(leaving)
		first <- err
	}()
	<-asked
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := provider(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the second caller, whose context has ended: got error %v, want %v", err, context.Canceled)
	}
	leave() // the first caller's client is gone; the renewal is for all
	close(release)
	if err := <-first; err != nil {
		t.Errorf("the first caller: got error %v, want none", err)
	}
	if found, err := provider(t.Context()); err != nil || found.AccessKey != "A" {
		t.Errorf("after the renewal: got %+v, error %v, want A", found, err)
	}
}

func TestCredentialsAreUsedUntilTheyExpireIfTheRenewalFails(t *testing.T) {
	t.Parallel()
	asked := 0
	provider := cached(func(context.Context) (Credentials, error) {
		if asked++; asked > 1 {
			return Credentials{}, errors.New("busy")
		}
		return Credentials{AccessKey: "A", Expires: time.Now().Add(renewBefore / 2)}, nil
	})
	for range 4 {
		if found, err := provider(t.Context()); err != nil || found.AccessKey != "A" {
			t.Errorf("got %+v, error %v, want A", found, err)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times, want 2: the next renewal waits", asked)
	}
}

func TestContainerCredentialsAreNotSentOverTheNetworkWithoutTLS(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://agent.example/creds": true, "http://127.0.0.1:8080/creds": true, "http://[::1]/": true, "http://localhost:1/": true,
		"http://169.254.170.2/v2": true, "http://169.254.170.23/v1": true, "http://[fd00:ec2::23]/v1": true,
		"http://agent.example/creds": false, "http://169.254.170.2@agent.example/": false, "http://10.0.0.1/": false, "ftp://127.0.0.1/": false, "https:": false, "%": false,
	} {
		if err := checkContainerURI(address); (err == nil) != want {
			t.Errorf("%s: got error %v, want allowed %v", address, err, want)
		}
	}
}

func TestRedirectsOfCredentialServersAreNotFollowed(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was sent to another host with %v", r.Method, r.Header)
	}))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	if _, err := fetch(t.Context(), http.MethodPost, server.URL, http.Header{"X-Aws-Ec2-Metadata-Token": {"secret"}}, "secret"); err == nil {
		t.Error("got no error, want the status 307")
	}
}

func TestAnotherRangeIsRefused(t *testing.T) {
	t.Parallel()
	client := testClient(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "the whole object") })
	if body, _, err := client.Get(t.Context(), "key", 4, 3); err == nil {
		content, _ := io.ReadAll(body)
		t.Errorf("got %q, want an error: the server ignored the range", content)
	}
}

func TestAnswersInXMLAreBounded(t *testing.T) {
	t.Parallel()
	client := testClient(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<ListBucketResult>")
		chunk := []byte(strings.Repeat(" ", 1<<20))
		for range maxDecoded >> 20 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
		fmt.Fprint(w, "</ListBucketResult>")
	})
	for _, err := range client.List(t.Context(), "", "", time.Minute) {
		if err == nil {
			t.Error("a key was found")
		}
		return
	}
	t.Error("got no error, want one about the size")
}
