package s3

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	renewBefore     = 5 * time.Minute  // the credentials expire
	renewAgainAfter = 15 * time.Second // a renewal that failed
	renewTimeout    = 10 * time.Second
	metadataTimeout = 2 * time.Second
	maxAnswer       = 1 << 20
)

// Credentials sign requests. The zero value sends them unsigned.
type Credentials struct {
	AccessKey, SecretKey, SessionToken string
	Expires                            time.Time // zero: never
}

// A Provider returns the credentials for a request.
type Provider func(ctx context.Context) (Credentials, error)

// Anonymous returns no credentials.
func Anonymous(context.Context) (Credentials, error) { return Credentials{}, nil }

// errNone is the error of a source that has no credentials; the next source is tried.
var errNone = errors.New("no credentials")

var errNoAccessKey = errors.New("the answer has no access key")

// FindCredentials returns a provider with the sources of the AWS tools: environment variables, the
// token of a web identity, the shared credentials file, the container, the machine. With a profile,
// it uses only that profile of the file.
func FindCredentials(profile, region string) Provider {
	sources := []Provider{fromEnvironment, webIdentity(region), fromFile(""), fromContainer, fromMachine}
	if profile != "" {
		sources = []Provider{fromFile(profile)}
	}
	return cached(func(ctx context.Context) (Credentials, error) {
		for _, source := range sources {
			if found, err := source(ctx); !errors.Is(err, errNone) {
				return found, err
			}
		}
		return Credentials{}, errors.New("no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	})
}

// cached calls a source again only when its last credentials are about to expire.
func cached(source Provider) Provider {
	renewal := make(chan struct{}, 1) // a lock that a context can give up
	var last Credentials
	var renewAt time.Time
	return func(ctx context.Context) (Credentials, error) {
		select {
		case renewal <- struct{}{}:
			defer func() { <-renewal }()
		case <-ctx.Done():
			return Credentials{}, fmt.Errorf("S3 credentials: %w", ctx.Err())
		}
		now := time.Now()
		isUsable := last.AccessKey != "" && (last.Expires.IsZero() || now.Before(last.Expires))
		if isUsable && (last.Expires.IsZero() || now.Before(renewAt)) {
			return last, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTimeout)
		defer cancel()
		found, err := source(ctx)
		if err != nil && isUsable {
			renewAt = now.Add(renewAgainAfter)
			return last, nil
		}
		if err != nil {
			return Credentials{}, fmt.Errorf("S3 credentials: %w", err)
		}
		last, renewAt = found, found.Expires.Add(-renewBefore)
		return found, nil
	}
}

func fromEnvironment(context.Context) (Credentials, error) {
	found := Credentials{
		AccessKey:    cmp.Or(os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_ACCESS_KEY")),
		SecretKey:    cmp.Or(os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SECRET_KEY")),
		SessionToken: os.Getenv("AWS_SESSION_TOKEN"),
	}
	if found.AccessKey == "" || found.SecretKey == "" {
		return Credentials{}, errNone
	}
	return found, nil
}

// fromFile reads a profile of the shared credentials file.
func fromFile(profile string) Provider {
	return func(context.Context) (Credentials, error) {
		name := cmp.Or(profile, os.Getenv("AWS_PROFILE"), "default")
		path := os.Getenv("AWS_SHARED_CREDENTIALS_FILE")
		if home, err := os.UserHomeDir(); path == "" && err == nil {
			path = filepath.Join(home, ".aws", "credentials")
		}
		file, err := os.Open(path)
		if err != nil && profile != "" {
			return Credentials{}, err
		}
		if err != nil {
			return Credentials{}, errNone
		}
		defer file.Close()
		values := readProfile(file, name)
		if values["aws_access_key_id"] == "" {
			if profile != "" {
				return Credentials{}, fmt.Errorf("%s has no access key for the profile %q", path, profile)
			}
			return Credentials{}, errNone
		}
		return Credentials{AccessKey: values["aws_access_key_id"], SecretKey: values["aws_secret_access_key"], SessionToken: values["aws_session_token"]}, nil
	}
}

// readProfile reads the lines NAME = VALUE after [profile].
func readProfile(file io.Reader, profile string) map[string]string {
	values, inside := map[string]string{}, false
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			inside = strings.TrimSpace(strings.Trim(line, "[]")) == profile
		} else if name, value, found := strings.Cut(line, "="); found && inside {
			values[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
		}
	}
	return values
}

// webIdentity exchanges the token of a web identity, which Kubernetes mounts into a pod.
func webIdentity(region string) Provider {
	return func(ctx context.Context) (Credentials, error) {
		path, role := os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE"), os.Getenv("AWS_ROLE_ARN")
		if path == "" || role == "" {
			return Credentials{}, errNone
		}
		token, err := os.ReadFile(path)
		if err != nil {
			return Credentials{}, err
		}
		endpoint := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_STS"), "https://sts."+region+"."+domain(region))
		form := url.Values{
			"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"}, "RoleArn": {role}, "WebIdentityToken": {string(token)},
			"RoleSessionName": {cmp.Or(os.Getenv("AWS_ROLE_SESSION_NAME"), "sortie-"+strconv.FormatInt(time.Now().Unix(), 10))},
		}
		body, err := fetch(ctx, http.MethodPost, endpoint, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, form.Encode())
		if err != nil {
			return Credentials{}, err
		}
		var answer struct {
			Found struct {
				AccessKeyID     string `xml:"AccessKeyId"`
				SecretAccessKey string
				SessionToken    string
				Expiration      time.Time
			} `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
		}
		if err := xml.Unmarshal(body, &answer); err != nil {
			return Credentials{}, err
		}
		if answer.Found.AccessKeyID == "" {
			return Credentials{}, errNoAccessKey
		}
		return Credentials{answer.Found.AccessKeyID, answer.Found.SecretAccessKey, answer.Found.SessionToken, answer.Found.Expiration}, nil
	}
}

// fromContainer requests credentials from the agent of ECS or EKS.
func fromContainer(ctx context.Context) (Credentials, error) {
	endpoint := os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if relative := os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); relative != "" {
		endpoint = "http://169.254.170.2" + relative
	}
	if endpoint == "" {
		return Credentials{}, errNone
	}
	if err := checkContainerURI(endpoint); err != nil {
		return Credentials{}, err
	}
	token := os.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN")
	if path := os.Getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); path != "" {
		content, err := os.ReadFile(path)
		if err != nil {
			return Credentials{}, err
		}
		token = strings.TrimSpace(string(content))
	}
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", token)
	}
	return fetchJSON(ctx, endpoint, header)
}

// checkContainerURI refuses addresses that are not an agent's: the request carries a token and the
// answer a secret, so without TLS they stay on this machine.
func checkContainerURI(address string) error {
	parsed, err := url.Parse(address)
	if err == nil && parsed.Scheme == "https" && parsed.Host != "" {
		return nil
	}
	if err == nil && parsed.Scheme == "http" {
		host := parsed.Hostname()
		ip, _ := netip.ParseAddr(host)
		if host == "localhost" || ip.IsLoopback() || slices.Contains(containerAgents, host) {
			return nil
		}
	}
	return errors.New("AWS_CONTAINER_CREDENTIALS_FULL_URI: want https, or http to this machine or to the agent of ECS or EKS")
}

// containerAgents are the addresses of the agents of ECS and EKS.
var containerAgents = []string{"169.254.170.2", "169.254.170.23", "fd00:ec2::23"}

// fromMachine requests credentials from the metadata service of EC2.
func fromMachine(ctx context.Context) (Credentials, error) {
	if disabled, _ := strconv.ParseBool(os.Getenv("AWS_EC2_METADATA_DISABLED")); disabled {
		return Credentials{}, errNone
	}
	ctx, cancel := context.WithTimeout(ctx, metadataTimeout)
	defer cancel()
	host := strings.TrimSuffix(cmp.Or(os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT"), "http://169.254.169.254"), "/")
	token, err := fetch(ctx, http.MethodPut, host+"/latest/api/token", http.Header{"X-Aws-Ec2-Metadata-Token-Ttl-Seconds": {"300"}}, "")
	if err != nil {
		return Credentials{}, errNone // not a machine of Amazon's
	}
	header := http.Header{"X-Aws-Ec2-Metadata-Token": {string(token)}}
	const roles = "/latest/meta-data/iam/security-credentials/"
	list, err := fetch(ctx, http.MethodGet, host+roles, header, "")
	if err != nil {
		return Credentials{}, err
	}
	role, _, _ := strings.Cut(strings.TrimSpace(string(list)), "\n")
	return fetchJSON(ctx, host+roles+role, header)
}

func fetchJSON(ctx context.Context, address string, header http.Header) (Credentials, error) {
	body, err := fetch(ctx, http.MethodGet, address, header, "")
	if err != nil {
		return Credentials{}, err
	}
	var answer struct {
		AccessKeyID     string `json:"AccessKeyId"`
		SecretAccessKey string
		Token           string
		Expiration      time.Time
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return Credentials{}, err
	}
	if answer.AccessKeyID == "" {
		return Credentials{}, errNoAccessKey
	}
	return Credentials{answer.AccessKeyID, answer.SecretAccessKey, answer.Token, answer.Expiration}, nil
}

// credentialServers is the client of all sources. It does not follow redirects: they could carry a
// token to another host.
var credentialServers = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func fetch(ctx context.Context, method, address string, header http.Header, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = header
	response, err := credentialServers.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", request.URL.Host, response.Status)
	}
	return io.ReadAll(io.LimitReader(response.Body, maxAnswer))
}

// domain returns Amazon's domain in a region.
func domain(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}
