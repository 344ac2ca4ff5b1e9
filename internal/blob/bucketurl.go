package blob

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"

	"github.com/sortie-labs/sortie/internal/s3"
)

// bucketURL is what a bucket's URL says.
type bucketURL struct {
	s3.Config
	prefix    string // of every key
	profile   string // of the shared credentials file
	anonymous bool
}

// parseBucketURL reads s3://BUCKET?region=REGION and its options. Its errors hold no part of an
// endpoint, which may hold a secret.
func parseBucketURL(address string) (bucketURL, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return bucketURL{}, errors.New("not a URL: want s3://BUCKET?region=REGION")
	}
	u := bucketURL{Config: s3.Config{Bucket: parsed.Host}}
	for parameter, values := range parsed.Query() {
		if err := u.set(parameter, values[0]); err != nil {
			return bucketURL{}, err
		}
	}
	if endpoint := endpointVariable(); u.Endpoint == nil && endpoint != "" {
		if err := u.setEndpoint(endpoint); err != nil {
			return bucketURL{}, errors.New("AWS_ENDPOINT_URL: want http://HOST or https://HOST")
		}
	}
	u.Region = cmp.Or(u.Region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	u.Credentials = s3.FindCredentials(u.profile, u.Region)
	if u.anonymous {
		u.Credentials = s3.Anonymous
	}
	return u, nil
}

// endpointVariable returns the endpoint that the environment sets for the AWS tools. If it were
// ignored, the files would go to Amazon's bucket of the same name.
func endpointVariable() string {
	if ignored, _ := strconv.ParseBool(os.Getenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")); ignored {
		return ""
	}
	return cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
}

func (u *bucketURL) set(parameter, value string) error {
	switch parameter {
	case "region":
		u.Region = value
	case "endpoint":
		return u.setEndpoint(value)
	case "prefix":
		u.prefix = value
	case "profile":
		u.profile = value
	case "ssetype":
		if value != "AES256" && value != "aws:kms" && value != "aws:kms:dsse" {
			return errors.New("query parameter ssetype: want AES256, aws:kms or aws:kms:dsse")
		}
		u.Encryption = value
	case "kmskeyid":
		u.KMSKey = value
	case "request_checksum_calculation", "response_checksum_validation":
		if value != "when_required" && value != "when_supported" { // every put carries its SHA-256 in any case
			return fmt.Errorf("query parameter %s: want when_required or when_supported", parameter)
		}
	default:
		return u.setFlag(parameter, value)
	}
	return nil
}

func (u *bucketURL) setFlag(parameter, value string) (err error) {
	flags := map[string]*bool{
		"use_path_style": &u.PathStyle, "s3ForcePathStyle": &u.PathStyle, "hostname_immutable": &u.PathStyle, "disable_https": &u.PlainHTTP,
		"anonymous": &u.anonymous, "accelerate": &u.Accelerate, "dualstack": &u.Dualstack, "fips": &u.FIPS,
	}
	flag, known := flags[parameter]
	if !known {
		return fmt.Errorf("unknown query parameter %q", parameter)
	}
	if *flag, err = strconv.ParseBool(value); err != nil {
		return fmt.Errorf("query parameter %s: want true or false", parameter)
	}
	return nil
}

func (u *bucketURL) setEndpoint(value string) error {
	endpoint, err := url.Parse(value)
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
		return errors.New("query parameter endpoint: want http://HOST or https://HOST")
	}
	u.Endpoint = endpoint
	return nil
}
