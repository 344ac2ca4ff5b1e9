// Package language holds the words of the tree: no forbidden word in comments, strings, identifiers
// and documents, comments within 100 columns, failure messages and case names that can be read.
// docs/glossary.md has the words to use.
package language

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unchecked are files that cannot change, with the reason, or that are not ours. A name that ends
// with a slash is a directory.
var unchecked = map[string]string{
	".git/":                         "not source",
	".sortie/":                      "data of a development service",
	"bin/":                          "built",
	"LICENSE":                       "not our text",
	"contracts/artifacts/":          "generated",
	"contracts/bind/":               "generated",
	"internal/apidocs/docs.html":    "generated",
	"contracts/cache/":              "built",
	"contracts/out/":                "built",
	"contracts/src/":                "the metadata hash in the deployed bytecode covers the comments",
	"internal/store/migrations/":    "applied migrations are held by their checksum",
	"e2e/language/language_test.go": "it lists the forbidden words",
	"e2e/language/rules_test.go":    "it lists the forbidden words",
}

// text is a piece of prose and the line that it begins at.
type text struct {
	line  int
	prose string
}

// finding is one fault with its place.
type finding struct {
	line  int
	fault string
}

func TestTheTreeSpeaksPlainly(t *testing.T) {
	t.Parallel()
	for _, name := range sources(t) {
		content, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range check(t, name, string(content)) {
			t.Errorf("%s:%d: %s", name, found.line, found.fault)
		}
	}
}

// sources lists the files of the tree that hold texts of ours.
func sources(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
		if entry.IsDir() {
			if _, skip := unchecked[name+"/"]; skip || entry.Name() == "node_modules" || entry.Name() == ".cache" || entry.Name() == "fuzz" || entry.Name() == "rapid" {
				return filepath.SkipDir
			}
			return nil
		}
		if _, skip := unchecked[name]; !skip && hasProse(name) {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

var proseFile = regexp.MustCompile(`\.(go|sol|md|yaml|yml|txtar|mjs|sh|html|css|conf|cfg|toml)$|^mutants/.*\.json$|^(scripts|ci)/\w+$|^Makefile$`)

func hasProse(name string) bool { return proseFile.MatchString(name) }

// check lists the faults of one file.
func check(t *testing.T, name, content string) []finding {
	t.Helper()
	switch filepath.Ext(name) {
	case ".go":
		if strings.HasPrefix(content, "// Code generated") {
			return nil
		}
		return checkGo(t, name, content)
	case ".sol", ".mjs":
		return forbidden(slashComments(content))
	case ".json":
		return forbidden(faults(content))
	default:
		return forbidden(paragraphs(content))
	}
}

// paragraphs gives the text of a document, joined over line ends so that a phrase is found where it
// wraps.
func paragraphs(content string) (texts []text) {
	var lines []string
	begin := 1
	flush := func(next int) {
		if len(lines) > 0 {
			texts = append(texts, text{begin, strings.Join(lines, "\n")})
		}
		lines, begin = nil, next
	}
	for i, line := range strings.Split(content, "\n") {
		if strings.TrimSpace(line) == "" {
			flush(i + 2)
			continue
		}
		if len(lines) == 0 {
			begin = i + 1
		}
		lines = append(lines, line)
	}
	flush(0)
	return texts
}

var faultLine = regexp.MustCompile(`^\s*"fault": `)

// faults gives the descriptions of mutants. Their other lines are code.
func faults(content string) (texts []text) {
	for i, line := range strings.Split(content, "\n") {
		if faultLine.MatchString(line) {
			texts = append(texts, text{i + 1, line})
		}
	}
	return texts
}

var slashComment = regexp.MustCompile(`^\s*(//+|/\*+|\*+/?)\s?(.*)$|^(?:.*\s)//+\s(.*)$`)

// slashComments gives the comments of Solidity and JavaScript, adjacent lines joined.
func slashComments(content string) []text {
	lines := strings.Split(content, "\n")
	for i, line := range lines {
		match := slashComment.FindStringSubmatch(line)
		lines[i] = ""
		if match != nil {
			lines[i] = match[2] + match[3]
		}
	}
	return paragraphs(strings.Join(lines, "\n"))
}
