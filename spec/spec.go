// Package spec carries the description of the API inside of the program: what is served is what was
// described when it was built. It holds nothing else; the vectors next to it are read by tests.
package spec

import _ "embed"

// OpenAPI is openapi.yaml.
//
//go:embed openapi.yaml
var OpenAPI []byte
