// Package tools pins what a Go client that is generated from spec/openapi.yaml imports. A test
// generates, builds and uses one.
package tools

import (
	_ "github.com/oapi-codegen/runtime"
	_ "go.yaml.in/yaml/v3"
)
