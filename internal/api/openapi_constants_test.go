package api

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sortie-labs/sortie"
)

func TestDocumentedCodesAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	document := newContract(t).document
	schema := document.Components.Schemas["ErrorCode"].Value
	codes := protocolConstants(t, "Code")
	if documented := texts(schema.Enum); !slices.Equal(documented, codes) {
		t.Errorf("ErrorCode: documented %q, the code has %q", documented, codes)
	}
	explained := schema.Extensions["x-codes"].(map[string]any)
	sameSet(t, "x-codes", slices.Collect(maps.Keys(explained)), codes)
	mentioned := codesInOperations(document)
	for code, entry := range explained {
		about := entry.(map[string]any)
		if status := fmt.Sprint(about["status"]); status != fmt.Sprint(sortie.Code(code).HTTPStatus()) {
			t.Errorf("x-codes %s: status %s, the code says %d", code, status, sortie.Code(code).HTTPStatus())
		}
		if reserved := about["reserved"] == true; reserved == (mentioned[code] != nil) {
			t.Errorf("x-codes %s: reserved %t, but operations name it: %t", code, reserved, mentioned[code] != nil)
		}
		for status := range mentioned[code] {
			if status != fmt.Sprint(about["status"]) {
				t.Errorf("%s is documented under status %s", code, status)
			}
		}
	}
}

// codesInOperations returns the statuses under which each code is documented.
func codesInOperations(document *openapi3.T) map[string]map[string]bool {
	mentioned := make(map[string]map[string]bool)
	var search func(status string, schema *openapi3.SchemaRef)
	search = func(status string, ref *openapi3.SchemaRef) {
		if ref == nil {
			return
		}
		if code := ref.Value.Properties["code"]; code != nil && ref.Ref == "" {
			for _, value := range append(slices.Clone(code.Value.Enum), code.Value.Const) {
				if text, isText := value.(string); isText && code.Ref == "" {
					if mentioned[text] == nil {
						mentioned[text] = make(map[string]bool)
					}
					mentioned[text][status] = true
				}
			}
		}
		if ref.Ref != "" {
			return
		}
		search(status, ref.Value.Properties["error"])
		for _, part := range slices.Concat(ref.Value.AllOf, ref.Value.OneOf) {
			search(status, part)
		}
	}
	for _, item := range document.Paths.Map() {
		for _, operation := range item.Operations() {
			for status, response := range operation.Responses.Map() {
				if content := response.Value.Content.Get("application/json"); content != nil && status >= "400" {
					search(status, content.Schema)
				}
			}
		}
	}
	return mentioned
}

func TestDocumentedValuesAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	schemas := newContract(t).document.Components.Schemas
	for name, want := range map[string][]string{
		"Token":         protocolConstants(t, "Token"),
		"ReviewStatus":  protocolConstants(t, "ReviewStatus"),
		"FundingStatus": protocolConstants(t, "FundingStatus"),
		"NextAction":    protocolConstants(t, "NextAction"),
		"ListStatus":    protocolConstants(t, "ListStatus"),
		"MissionHealth": protocolConstants(t, "Health"),
		"Party":         protocolConstants(t, "Party"),
		"BlockerCode":   protocolConstants(t, "BlockerCode"),
		"EventType":     protocolConstants(t, "EventType"),

		"MediaType":        protocolConstants(t, "MediaType"),
		"SubmissionStatus": protocolConstants(t, "SubmissionStatus"),
		"SolvencyStatus":   protocolConstants(t, "SolvencyStatus"),
		"PayoutStatus":     protocolConstants(t, "PayoutStatus"),
		"PayoutWaitCode":   protocolConstants(t, "PayoutWaitCode"),
	} {
		if documented := texts(schemas[name].Value.Enum); !slices.Equal(documented, want) {
			t.Errorf("%s: documented %q, the code has %q", name, documented, want)
		}
	}
	faults := constants(t, "../mission/fault.go", "")
	if documented := texts(schemas["FieldError"].Value.Properties["code"].Value.Enum); !slices.Equal(documented, faults) {
		t.Errorf("FieldError.code: documented %q, the code has %q", documented, faults)
	}
}

// protocolConstants returns the string constants of a type of package sortie, in their order.
func protocolConstants(t *testing.T, typeName string) []string {
	t.Helper()
	files, err := filepath.Glob("../../*.go")
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, file := range files {
		values = append(values, constants(t, file, typeName)...)
	}
	return values
}

// constants returns the string constants of a type in a source file, in their order.
func constants(t *testing.T, file, typeName string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, declaration := range parsed.Decls {
		group, isGroup := declaration.(*ast.GenDecl)
		if !isGroup || group.Tok != token.CONST {
			continue
		}
		for _, one := range group.Specs {
			value := one.(*ast.ValueSpec)
			name := ""
			if identifier, named := value.Type.(*ast.Ident); named {
				name = identifier.Name
			}
			literal, isLiteral := value.Values[0].(*ast.BasicLit)
			if isLiteral && literal.Kind == token.STRING && name == typeName {
				values = append(values, strings.Trim(literal.Value, `"`))
			}
		}
	}
	return values
}
