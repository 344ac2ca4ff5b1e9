package blob

import (
	"strings"
	"testing"

	"github.com/sortie-labs/sortie/internal/s3"
)

func TestBucketURLs(t *testing.T) {
	t.Setenv("AWS_REGION", "eu-north-1")
	for address, want := range map[string]struct {
		name, region, host, prefix string
		pathStyle, anonymous       bool
	}{
		"s3://media?region=eu-central-1": {name: "media", region: "eu-central-1", host: `Amazon S3, region "eu-central-1"`},
		"s3://media":                     {name: "media", region: "eu-north-1", host: `Amazon S3, region "eu-north-1"`},
		"s3://media?region=r&endpoint=https://u:p@s3.example&use_path_style=1":   {name: "media", region: "r", host: "s3.example", pathStyle: true},
		"s3://media?region=r&endpoint=http://s3.example:1&s3ForcePathStyle=true": {name: "media", region: "r", host: "s3.example:1", pathStyle: true},
		"s3://media?region=r&anonymous=true&prefix=a/b/":                         {name: "media", region: "r", host: `Amazon S3, region "r"`, prefix: "a/b/", anonymous: true},
		"s3://media?region=r&request_checksum_calculation=when_supported":        {name: "media", region: "r", host: `Amazon S3, region "r"`},
		"s3://media?region=r&ssetype=aws:kms&kmskeyid=k&accelerate=true":         {name: "media", region: "r", host: `Amazon S3, region "r"`},
		"s3://media?region=r&profile=p&dualstack=true&disable_https=false":       {name: "media", region: "r", host: `Amazon S3, region "r"`},
	} {
		parsed, err := parseBucketURL(address)
		if err != nil {
			t.Errorf("parse %s: %v", address, err)
			continue
		}
		client, err := s3.New(parsed.Config)
		if err != nil {
			t.Errorf("client of %s: %v", address, err)
			continue
		}
		if parsed.Bucket != want.name || parsed.Region != want.region || client.Host() != want.host || parsed.prefix != want.prefix ||
			parsed.PathStyle != want.pathStyle || parsed.anonymous != want.anonymous {
			t.Errorf("%s: got host %q, region %q, prefix %q, path style %v, want %+v", address, client.Host(), parsed.Region, parsed.prefix, parsed.PathStyle, want)
		}
	}
}

func TestWrongBucketURLsAreRefused(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"s3://":                                         "want s3://BUCKET",
		"s3://%":                                        "want s3://BUCKET",
		"s3://media?regoin=r":                           `unknown query parameter "regoin"`,
		"s3://media?use_path_style=perhaps":             "use_path_style",
		"s3://media?endpoint=secret.example":            "endpoint",
		"s3://media?endpoint=ftp://u:secret@h":          "endpoint",
		"s3://media?ssetype=rot13":                      "ssetype",
		"s3://media?request_checksum_calculation=maybe": "request_checksum_calculation",
	} {
		_, err := parseBucketURL(address)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got error %v, want one with %q and without the endpoint", address, err, want)
		}
	}
}

func TestTheEndpointOfTheEnvironmentIsUsed(t *testing.T) {
	const given = "s3://media?region=r&endpoint=http://given.example"
	for _, c := range []struct{ address, ignored, general, ofS3, want string }{
		{"s3://media?region=r", "", "http://general.example", "", "general.example"},
		{"s3://media?region=r", "", "http://general.example", "http://s3.example:1", "s3.example:1"},
		{"s3://media?region=r", "true", "http://general.example", "", `Amazon S3, region "r"`},
		{given, "", "http://general.example", "", "given.example"},
	} {
		t.Setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", c.ignored)
		t.Setenv("AWS_ENDPOINT_URL", c.general)
		t.Setenv("AWS_ENDPOINT_URL_S3", c.ofS3)
		parsed, err := parseBucketURL(c.address)
		if err != nil {
			t.Fatal(err)
		}
		client, err := s3.New(parsed.Config)
		if err != nil || client.Host() != c.want {
			t.Errorf("%+v: got %q, error %v, want %q", c, client.Host(), err, c.want)
		}
	}
	t.Setenv("AWS_ENDPOINT_URL", "secret.example")
	if _, err := parseBucketURL("s3://media?region=r"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a wrong endpoint: got error %v, want one without it", err)
	}
}
