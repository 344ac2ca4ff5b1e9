package blob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/encrypt"
)

const (
	amazonHost = "s3.amazonaws.com"
	// attempts is how often a request is sent before its failure counts.
	attempts = 3
)

// bucketOptions are the query parameters of a bucket's URL.
type bucketOptions struct {
	region     string
	endpoint   *url.URL // nil: Amazon's
	prefix     string   // of every key
	profile    string   // of the shared credentials file
	sse        encrypt.ServerSide
	pathStyle  bool
	plainHTTP  bool
	anonymous  bool
	accelerate bool
	dualstack  bool
}

// parseBucketURL reads s3://BUCKET?region=REGION and its options. Its errors hold no part of an
// endpoint, which may hold a secret.
func parseBucketURL(address string) (name string, options bucketOptions, err error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return "", options, errors.New("not a URL: want s3://BUCKET?region=REGION")
	}
	query := parsed.Query()
	for parameter, values := range query {
		if err := options.set(parameter, values[0]); err != nil {
			return "", options, err
		}
	}
	if key := query.Get("kmskeyid"); key != "" || query.Get("ssetype") == "aws:kms" {
		if options.sse, err = encrypt.NewSSEKMS(key, nil); err != nil {
			return "", options, fmt.Errorf("query parameter kmskeyid: %w", err)
		}
	}
	options.region = cmp.Or(options.region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	return parsed.Host, options, nil
}

func (o *bucketOptions) set(parameter, value string) (err error) {
	flag := func(target *bool) error {
		var err error
		if *target, err = strconv.ParseBool(value); err != nil {
			return fmt.Errorf("query parameter %s: want true or false", parameter)
		}
		return nil
	}
	switch parameter {
	case "region":
		o.region = value
	case "endpoint":
		return o.setEndpoint(value)
	case "prefix":
		o.prefix = value
	case "profile":
		o.profile = value
	case "use_path_style", "s3ForcePathStyle", "hostname_immutable":
		return flag(&o.pathStyle)
	case "disable_https":
		return flag(&o.plainHTTP)
	case "anonymous":
		return flag(&o.anonymous)
	case "accelerate":
		return flag(&o.accelerate)
	case "dualstack":
		return flag(&o.dualstack)
	case "ssetype":
		return o.setEncryption(value)
	case "kmskeyid": // read with ssetype
	case "request_checksum_calculation", "response_checksum_validation":
		if value != "when_required" && value != "when_supported" { // every put carries its SHA-256 in any case
			return fmt.Errorf("query parameter %s: want when_required or when_supported", parameter)
		}
	default:
		return fmt.Errorf("unknown query parameter %q", parameter)
	}
	return nil
}

func (o *bucketOptions) setEndpoint(value string) error {
	endpoint, err := url.Parse(value)
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
		return errors.New("query parameter endpoint: want http://HOST or https://HOST")
	}
	if endpoint.Path != "" && endpoint.Path != "/" {
		return errors.New("query parameter endpoint: want no path after the host")
	}
	o.endpoint = endpoint
	return nil
}

func (o *bucketOptions) setEncryption(kind string) error {
	switch kind {
	case "AES256":
		o.sse = encrypt.NewSSE()
	case "aws:kms": // with kmskeyid
	default:
		return errors.New("query parameter ssetype: want AES256 or aws:kms")
	}
	return nil
}

// host names the server for the log.
func (o *bucketOptions) host() string {
	if o.endpoint == nil {
		return "Amazon S3, region " + strconv.Quote(o.region)
	}
	return o.endpoint.Host
}

// newClient makes the client of a bucket. It sends nothing.
func (o *bucketOptions) newClient() (minio.Core, *http.Transport, error) {
	host, secure, lookup := amazonHost, !o.plainHTTP, minio.BucketLookupAuto
	if o.endpoint != nil {
		host, secure, lookup = o.endpoint.Host, o.endpoint.Scheme == "https" && secure, minio.BucketLookupDNS
	}
	if o.pathStyle {
		lookup = minio.BucketLookupPath
	}
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return minio.Core{}, nil, err
	}
	client, err := minio.New(host, &minio.Options{
		Creds: o.credentials(), Secure: secure, Transport: transport, Region: o.region, BucketLookup: lookup, MaxRetries: attempts,
	})
	if err != nil {
		return minio.Core{}, nil, err
	}
	if o.endpoint == nil {
		client.SetS3EnableDualstack(o.dualstack)
		if o.accelerate {
			client.SetS3TransferAccelerate("s3-accelerate.amazonaws.com")
		}
	}
	return minio.Core{Client: client}, transport, nil
}

// credentials are those of the environment, of the shared credentials file, or of the machine or
// container, in the order of the AWS tools.
func (o *bucketOptions) credentials() *credentials.Credentials {
	file := &credentials.FileAWSCredentials{Profile: o.profile}
	switch {
	case o.anonymous:
		return credentials.NewStaticV4("", "", "")
	case o.profile != "":
		return credentials.New(file)
	}
	providers := []credentials.Provider{&credentials.EnvAWS{}}
	machine := &credentials.IAM{Region: o.region}
	if os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "" {
		providers = append(providers, machine)
	}
	providers = append(providers, file)
	inContainer := os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != "" || os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != ""
	if disabled, _ := strconv.ParseBool(os.Getenv("AWS_EC2_METADATA_DISABLED")); inContainer || !disabled {
		providers = append(providers, machine)
	}
	return credentials.NewChainCredentials(providers)
}

// presigned sends a request without a body whose extra header is part of the signature. The client
// has no other way to sign a header that it does not know.
func (b *bucket) presigned(ctx context.Context, method, key, header, value string) error {
	signed := http.Header{header: {value}}
	target, err := b.client.PresignHeader(ctx, method, b.name, key, b.patience+signatureLife, nil, signed)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), nil)
	if err != nil {
		return err
	}
	request.Header = signed
	response, err := b.transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		return minio.ErrorResponse{StatusCode: response.StatusCode, Code: response.Status, Message: fmt.Sprintf("%s answered %s", method, response.Status)}
	}
	return nil
}
