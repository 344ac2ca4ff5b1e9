package e2e

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// shortestWait is the shortest timeout that a test may use.
const shortestWait = time.Minute

// harmless are the functions whose short wait cannot fail on a slow machine, with the reason.
var harmless = map[string]string{
	"example_test.go ExampleClient_Events":                                                   "an example for readers, without an output to compare",
	"internal/leases/holder_test.go TestOneWorksAtATime":                                     "an interval between attempts, without a limit on their number",
	"internal/jobs/sqlite_test.go TestIdleSQLiteWritesNothing":                               "time in which nothing must happen",
	"internal/ingest/ingest_test.go TestParallelLimit":                                       "the time must run out",
	"internal/ingest/main_test.go dial":                                                      "it must fail, in a child without a network",
	"internal/porttest/hold_other.go Hold":                                                   "the one place that chooses a port, where a port cannot be held",
	"internal/porttest/porttest_linux_test.go TestAReservedPortCanBeListenedOnAgainAndAgain": "the port stays reserved",
}

// Tests must not depend on luck: on a port that was free before, or on a fast machine.
func TestTestsDoNotDependOnTiming(t *testing.T) {
	t.Parallel()
	unused := make(map[string]bool)
	for name := range harmless {
		unused[name] = true
	}
	for path := range testSources(t) {
		source, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", path), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range source.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || function.Body == nil {
				continue
			}
			name := filepath.ToSlash(path) + " " + function.Name.Name
			for _, fault := range luck(function.Body) {
				if _, allowed := harmless[name]; !allowed {
					t.Errorf("function %s: %s", name, fault)
				}
				delete(unused, name)
			}
		}
	}
	for name := range unused {
		t.Errorf("harmless has %q, which depends on nothing: remove it", name)
	}
}

// The rule must find the faults that it is for.
func TestTimingRuleFindsFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"a port that was free":           {`l, err := net.Listen("tcp", "127.0.0.1:0"); a := l.Addr().String(); _ = l.Close(); use(a, err)`, "porttest"},
		"a port given back with another": {`l, err := net.Listen("tcp", "127.0.0.1:0"); return l.Addr().String(), l.Close()`, "porttest"},
		"a port if free":                 {`if l, err := net.Listen("tcp", address); err == nil { _ = l.Close() }`, "porttest"},
		"a listener in use":              {`l, err := net.Listen("tcp", "127.0.0.1:0"); defer l.Close(); use(l, err)`, ""},
		"a listener closed at the end":   {`l, err := net.Listen("tcp", "127.0.0.1:0"); t.Cleanup(func() { _ = l.Close() }); use(l, err)`, ""},
		"a sleep":                        {`time.Sleep(10 * time.Millisecond)`, "time.Sleep"},
		"a sleep until it is killed":     {`time.Sleep(time.Hour)`, ""},
		"a short context":                {`ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)`, "20s"},
		"a long context":                 {`ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)`, ""},
		"a short select":                 {`select { case <-c: case <-time.After(time.Second): }`, "1s"},
		"a short timer":                  {`timer := time.NewTimer(500 * time.Millisecond)`, "500ms"},
		"a short deadline":               {`_ = connection.SetReadDeadline(time.Now().Add(30 * time.Second))`, "30s"},
		"a short poll":                   {`for deadline := time.Now().Add(15 * time.Second); !so(); { }`, "15s"},
		"a short measurement":            {`if took := time.Since(start); took > 5*time.Second { }`, "5s"},
		"a clock that is moved":          {`clock.Advance(10 * time.Second)`, ""},
	} {
		source, err := parser.ParseFile(token.NewFileSet(), name, "package p\nfunc f() {\n"+c.body+"\n}", parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("parse the case %q: %v", name, err)
		}
		got := strings.Join(luck(source.Decls[0].(*ast.FuncDecl).Body), "; ")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q in it", name, got, c.want)
		}
	}
}

// testSources yields the Go files of tests.
func testSources(t *testing.T) func(yield func(string) bool) {
	t.Helper()
	return func(yield func(string) bool) {
		err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() && (entry.Name() == "node_modules" || strings.HasPrefix(entry.Name(), ".") && entry.Name() != "..") {
				return filepath.SkipDir
			}
			name := strings.TrimPrefix(filepath.ToSlash(path), "../")
			ours := strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".go") && strings.HasPrefix(name, "internal/porttest/")
			if ours && name != "e2e/luck_test.go" && !yield(name) {
				return filepath.SkipAll
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// luck lists the ports and short waits in a function body.
func luck(body *ast.BlockStmt) (faults []string) {
	listeners := map[string]bool{}
	ast.Inspect(body, func(node ast.Node) bool {
		assigned, ok := node.(*ast.AssignStmt)
		if ok && len(assigned.Rhs) == 1 && called(assigned.Rhs[0]) == "net.Listen" {
			listeners[source(assigned.Lhs[0])] = true
		}
		return true
	})
	began := map[string]bool{} // variables that hold a measured time
	ast.Inspect(body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.DeferStmt:
			return false
		case *ast.FuncLit: // a listener may be closed there: it runs later
			faults = append(faults, luck(node.Body)...)
			return false
		case *ast.AssignStmt:
			if len(node.Rhs) == 1 && called(node.Rhs[0]) == "time.Since" {
				began[source(node.Lhs[0])] = true
			}
		case *ast.BinaryExpr:
			if (node.Op == token.GTR || node.Op == token.GEQ) && (began[source(node.X)] || called(node.X) == "time.Since") {
				faults = append(faults, tooShort("a measured time", node.Y)...)
			}
		case *ast.CallExpr:
			if selector, ok := node.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == "Close" && listeners[source(selector.X)] {
				faults = append(faults, "closes a listener to use its port: any program may take it; use internal/porttest")
			}
			faults = append(faults, hurried(node)...)
		}
		return true
	})
	return faults
}

// hurried lists the short waits in one call.
func hurried(call *ast.CallExpr) []string {
	name := called(call)
	switch {
	case name == "time.Sleep":
		if d, known := duration(call.Args[0]); !known || d < time.Hour {
			return []string{"time.Sleep: wait for what should happen, not for time"}
		}
	case name == "time.After" || name == "time.NewTimer" || name == "time.Tick":
		return tooShort(name, call.Args[0])
	case name == "context.WithTimeout" || name == "net.DialTimeout":
		return tooShort(name, call.Args[len(call.Args)-1])
	case strings.HasSuffix(name, ".Add"):
		if selector, ok := call.Fun.(*ast.SelectorExpr); ok && called(selector.X) == "time.Now" {
			if d, known := duration(call.Args[0]); known && d > 0 {
				return tooShort("a deadline", call.Args[0])
			}
		}
	}
	return nil
}

func tooShort(what string, expression ast.Expr) []string {
	if d, known := duration(expression); known && d < shortestWait {
		return []string{fmt.Sprintf("%s of %s: a busy machine may need more; give it %s or wait for a signal", what, d, shortestWait)}
	}
	return nil
}

// called is the name of the function that an expression calls, such as time.After.
func called(expression ast.Expr) string {
	if call, ok := expression.(*ast.CallExpr); ok {
		return source(call.Fun)
	}
	return ""
}

func source(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return source(e.X) + "." + e.Sel.Name
	case *ast.CallExpr:
		return source(e.Fun) + "()"
	}
	return ""
}

var units = map[string]time.Duration{
	"time.Nanosecond": 1, "time.Microsecond": time.Microsecond, "time.Millisecond": time.Millisecond,
	"time.Second": time.Second, "time.Minute": time.Minute, "time.Hour": time.Hour,
}

// duration evaluates expressions such as 20*time.Second. Named constants are not resolved.
func duration(expression ast.Expr) (d time.Duration, known bool) {
	switch e := expression.(type) {
	case *ast.ParenExpr:
		return duration(e.X)
	case *ast.SelectorExpr:
		d, known = units[source(e)]
		return d, known
	case *ast.BasicLit:
		number, err := strconv.ParseInt(strings.ReplaceAll(e.Value, "_", ""), 10, 64)
		return time.Duration(number), err == nil
	case *ast.BinaryExpr:
		x, knownX := duration(e.X)
		y, knownY := duration(e.Y)
		switch {
		case !knownX || !knownY:
			return 0, false
		case e.Op == token.MUL:
			return x * y, true
		case e.Op == token.ADD:
			return x + y, true
		case e.Op == token.QUO && y != 0:
			return x / y, true
		}
	}
	return 0, false
}
