package language

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// words are the forbidden ones, with what to write instead.
var words = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{phrase(`somebody|anybody`), "name the party: a creator, contributor, operator, client or process"},
	{phrase(`nobody`), "no client, no process, no operator; or say what does not happen"},
	{phrase(`whoever`), "name the party, or: any client that"},
	{phrase(`stands`), "is, means"},
	{phrase(`goes on`), "continues"},
	{phrase(`beside`), "besides, next to, in addition to"},
	{phrase(`overlook\w*`), "read, check, miss"},
}

var (
	behind        = phrase(`behind`)
	behindAllowed = regexp.MustCompile(`(?i)^behind\s+(a|the)\s+(\S+\s+)?(proxy|proxies|load\s+balancer|nginx|haproxy)\b`)
	// A value of the wire format: in backquotes, an element of an enum, a name of its own.
	behindValue = regexp.MustCompile("^(?:`behind`|\"behind\"|- behind(\n|$)|\\[behind[,\\]]|, behind[,\\]])")
)

func phrase(words string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(` + strings.ReplaceAll(words, " ", `\s+(?://\s*|#\s*)?`) + `)\b`)
}

// forbidden lists the forbidden words in texts.
func forbidden(texts []text) (found []finding) {
	for _, t := range texts {
		for _, word := range words {
			for _, at := range word.pattern.FindAllStringIndex(t.prose, -1) {
				found = append(found, t.at(at[0], "%q: write %s", t.prose[at[0]:at[1]], word.instead))
			}
		}
		for _, at := range behind.FindAllStringIndex(t.prose, -1) {
			before := max(0, at[0]-2)
			value := behindValue.MatchString(t.prose[before:]) || at[0] > 0 && behindValue.MatchString(t.prose[at[0]-1:])
			if !value && !behindAllowed.MatchString(t.prose[at[0]:]) && strings.TrimSpace(t.prose) != "behind" {
				found = append(found, t.at(at[0], "%q: write after, below, or what it means", t.prose[at[0]:at[1]]))
			}
		}
	}
	return found
}

func (t text) at(offset int, format string, args ...any) finding {
	return finding{t.line + strings.Count(t.prose[:offset], "\n"), fmt.Sprintf(format, args...)}
}

// checkGo lists the faults of a Go file.
func checkGo(t *testing.T, name, content string) []finding {
	t.Helper()
	files := token.NewFileSet()
	source, err := parser.ParseFile(files, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("parse %s: %v", name, err)
	}
	line := func(node ast.Node) int { return files.Position(node.Pos()).Line }
	var texts []text
	found := longComments(content)
	for _, group := range source.Comments {
		comment := text{line(group), commentText(group)}
		texts = append(texts, comment)
		if reference.MatchString(strings.TrimSpace(comment.prose)) {
			found = append(found, comment.at(0, "the comment refers to a list that is not here: say what it is"))
		}
	}
	ast.Inspect(source, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if value, err := strconv.Unquote(node.Value); err == nil && node.Kind == token.STRING {
				texts = append(texts, text{line(node), value})
			}
		case *ast.Ident:
			texts = append(texts, text{line(node), splitName(node.Name)})
		case *ast.CallExpr:
			if fault := bareMessage(node); fault != "" {
				found = append(found, finding{line(node), fault})
			}
		}
		if value := caseName(node); reference.MatchString(value) {
			found = append(found, finding{line(node), fmt.Sprintf("case name %q: say what the case is", value)})
		}
		return true
	})
	return slices.Concat(forbidden(texts), found)
}

// commentText is the text of a comment, without its marks.
func commentText(group *ast.CommentGroup) string {
	var lines []string
	for _, comment := range group.List {
		lines = append(lines, strings.TrimPrefix(comment.Text, "//"))
	}
	return strings.Join(lines, "\n")
}

var camel = regexp.MustCompile(`[A-Z]+[a-z0-9]*|[a-z0-9]+`)

// splitName gives the words of an identifier. The name of a constant of the wire format may hold
// "behind".
func splitName(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.Join(camel.FindAllString(name, -1), " ")), "behind", "")
}

// reference is a number in a list elsewhere, such as A29. S3 is a name.
var reference = regexp.MustCompile(`^([A-RT-Z]\d{1,3}|S[0-24-9]\d*)([ ,:-]|$)`)

// caseName gives the name of a test case: the key of a map, the first member of a struct, a member
// called name, the first argument of Run.
func caseName(node ast.Node) string {
	var name ast.Expr
	switch node := node.(type) {
	case *ast.KeyValueExpr:
		name = node.Key
		if key, ok := node.Key.(*ast.Ident); ok && key.Name == "name" {
			name = node.Value
		}
	case *ast.CompositeLit:
		if len(node.Elts) > 1 && node.Type == nil {
			name = node.Elts[0]
		}
	case *ast.CallExpr:
		if method, ok := node.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Run" && len(node.Args) > 0 {
			name = node.Args[0]
		}
	}
	literal, ok := name.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return ""
	}
	value, err := strconv.Unquote(literal.Value)
	if err != nil {
		return ""
	}
	return value
}

const columns = 100

var commentLine = regexp.MustCompile(`^\s*// `)

// longComments lists the comment lines that are too long, unless they are one long word.
func longComments(content string) (found []finding) {
	for i, line := range strings.Split(content, "\n") {
		width := len([]rune(strings.ReplaceAll(line, "\t", "    ")))
		if width > columns && commentLine.MatchString(line) && len(strings.Fields(line)) > 2 {
			found = append(found, finding{i + 1, fmt.Sprintf("comment of %d columns: wrap it at %d", width, columns)})
		}
	}
	return found
}

var verb = regexp.MustCompile(`%[-+# 0]*(\[\d+\])?(\d+|\*)?(\.(\d+|\*)?)?(\[\d+\])?[a-zA-Z%]`)

var letter = regexp.MustCompile(`\pL`)

// bareMessage reports a failure message that shows values and does not say what they are.
func bareMessage(call *ast.CallExpr) string {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return ""
	}
	receiver, _ := method.X.(*ast.Ident)
	if receiver != nil && (receiver.Name == "fmt" || receiver.Name == "log" || receiver.Name == "errors" || receiver.Name == "slog") {
		return ""
	}
	switch method.Sel.Name {
	case "Errorf", "Fatalf":
		format, ok := call.Args[0].(*ast.BasicLit)
		if !ok {
			return ""
		}
		value, err := strconv.Unquote(format.Value)
		if err == nil && !letter.MatchString(verb.ReplaceAllString(value, "")) {
			return fmt.Sprintf("failure message %s: say what was done, got and want", format.Value)
		}
	case "Error", "Fatal":
		if len(call.Args) > 1 && !says(call.Args) {
			return "failure message without words: say what was done, got and want"
		}
	}
	return ""
}

// says reports whether one of the arguments is a text with a letter.
func says(args []ast.Expr) bool {
	return slices.ContainsFunc(args, func(arg ast.Expr) bool {
		found := false
		ast.Inspect(arg, func(node ast.Node) bool {
			if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING && letter.MatchString(literal.Value) {
				found = true
			}
			return !found
		})
		return found
	})
}

// The rules must find what they are for.
func TestTheRulesFindFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, source string
		want         string // part of the only fault; empty: none
	}{
		"a word in a comment":              {"a.go", "package p\n\n// f is for nobody.\nfunc f() {}\n", "nobody"},
		"a phrase over a line end":         {"a.go", "package p\n\n// It goes\n// on.\nfunc f() {}\n", "continues"},
		"a word in a string":               {"a.go", "package p\n\nvar x = \"Whoever asks\"\n", "Whoever"},
		"a word in a name":                 {"a.go", "package p\n\nvar overlookAll int\n", "overlook"},
		"part of another word":             {"a.go", "package p\n\n// besides, outstanding\nvar x = \"standstill\"\n", ""},
		"behind for after":                 {"a.md", "bytes behind the end\n", "behind"},
		"behind a proxy":                   {"a.md", "Run it behind a proxy or behind the\nload balancer.\n", ""},
		"behind as a value":                {"a.yaml", "enum: [ok, behind, stuck]\nother: `behind`\n- behind\n", ""},
		"a word in a document":             {"README.md", "It stands here.\n", "stands"},
		"a word in a Solidity comment":     {"a.t.sol", "uint256 x; // nobody\n", "nobody"},
		"a long comment":                   {"a.go", "package p\n\n// " + strings.Repeat("word ", 20) + "\nvar x int\n", "columns"},
		"a long link":                      {"a.go", "package p\n\n// " + strings.Repeat("word", 30) + "\nvar x int\n", ""},
		"a bare message":                   {"a_test.go", "package p\n\nfunc f() { t.Errorf(\"%+v\", x) }\n", "failure message"},
		"a bare message of two":            {"a_test.go", "package p\n\nfunc f() { t.Fatalf(\"%v: %q\", x, y) }\n", "failure message"},
		"a bare list of values":            {"a_test.go", "package p\n\nfunc f() { t.Fatal(x, y) }\n", "without words"},
		"a message with got and want":      {"a_test.go", "package p\n\nfunc f() { t.Errorf(\"sum: got %d, want %d\", x, y) }\n", ""},
		"an error alone":                   {"a_test.go", "package p\n\nfunc f() { t.Fatal(err) }\n", ""},
		"an error that is made":            {"a.go", "package p\n\nfunc f() { fmt.Errorf(\"%w\", err) }\n", ""},
		"a case named by a list elsewhere": {"a_test.go", "package p\n\nvar x = map[string]int{\"A29 two hosts\": 1}\n", "case name"},
		"a comment that refers to a list":  {"a_test.go", "package p\n\nvar x int // D18\n", "refers to a list"},
		"a value that looks like a case":   {"a_test.go", "package p\n\nvar x = f(\"K1\")\n", ""},
		"a case about S3":                  {"a_test.go", "package p\n\nvar x = map[string]int{\"S3 fails\": 1}\n", ""},
	} {
		found := check(t, c.file, c.source)
		switch {
		case c.want == "" && len(found) > 0:
			t.Errorf("%s: got %v, want no fault", name, found)
		case c.want != "" && (len(found) != 1 || !strings.Contains(found[0].fault, c.want)):
			t.Errorf("%s: got %v, want one fault with %q", name, found, c.want)
		}
	}
}
