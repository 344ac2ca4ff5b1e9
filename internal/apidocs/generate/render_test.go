package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sortie-labs/sortie/internal/apidocs"
	"github.com/sortie-labs/sortie/spec"
)

func renderedDocs(t *testing.T) string {
	t.Helper()
	page, err := Render(spec.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

func TestThePageIsCurrent(t *testing.T) {
	t.Parallel()
	rendered, err := Render(spec.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(rendered, apidocs.Page) {
		t.Error("internal/apidocs/docs.html differs from what spec/openapi.yaml gives: run go generate ./internal/apidocs")
	}
}

func TestDocsShowEverything(t *testing.T) {
	t.Parallel()
	page := renderedDocs(t)
	document, err := openapi3.NewLoader().LoadFromData(spec.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			for _, want := range []string{`<h3 id="` + operation.OperationID + `">`, `<span class="method ` + method + `">`, "<code>" + path + "</code>"} {
				if !strings.Contains(page, want) {
					t.Errorf("%s %s: the page lacks %s", method, path, want)
				}
			}
			for status := range operation.Responses.Map() {
				if !strings.Contains(page, "<h4>"+status+" ") && !strings.Contains(page, "<b>"+status+"</b>") {
					t.Errorf("%s %s: the page lacks status %s", method, path, status)
				}
			}
		}
	}
	for _, code := range document.Components.Schemas["ErrorCode"].Value.Enum {
		if !strings.Contains(page, `<tr id="error-`+code.(string)+`">`) {
			t.Errorf("the page lacks the error code %s", code)
		}
	}
	for _, want := range []string{
		`<td class="name"><code>reward.amount</code> <span class="must">required</span></td><td class="kind">number or string</td>`,
		`<td class="name"><code>summary.nextCursor</code></td><td class="kind">string or null</td>`,
		`<td class="kind">list of <a href="#object-ListedDraft">ListedDraft</a></td>`,
		`<h3 id="object-FundingQuote">`,
		html.EscapeString(`"amount": 2.5`),
		"import { privateKeyToAccount } from 'viem/accounts'",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

func TestDocsLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	page := renderedDocs(t)
	ids := make(map[string]bool)
	for _, found := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if found[1] == "" || ids[found[1]] {
			t.Errorf("id %q is empty or appears twice", found[1])
		}
		ids[found[1]] = true
	}
	links := regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1)
	for _, link := range links {
		target := link[1]
		anchor, inPage := strings.CutPrefix(target, "#")
		switch {
		case inPage && !ids[anchor]:
			t.Errorf("link to #%s, which does not exist", anchor)
		case !inPage && target != "/openapi.yaml" && target != "https://viem.sh" && target != "data:,":
			t.Errorf("link to %s: the page should lead to nothing but itself", target)
		}
	}
	if len(ids) < 50 || len(links) < 100 {
		t.Errorf("found only %d ids and %d links", len(ids), len(links))
	}
}

func TestDocsLoadNothingAndRunNothing(t *testing.T) {
	t.Parallel()
	page := renderedDocs(t)
	for _, forbidden := range []string{"<script", " src=", "@import", "url(", "<iframe", "<form", "javascript:", " style=", "ZgotmplZ"} {
		if strings.Contains(page, forbidden) {
			t.Errorf("the page has %s", forbidden)
		}
	}
	_, rest, _ := strings.Cut(page, "<style>")
	style, _, closed := strings.Cut(rest, "</style>")
	digest := sha256.Sum256([]byte(style))
	if !closed || !strings.Contains(apidocs.Policy, "'sha256-"+base64.StdEncoding.EncodeToString(digest[:])+"'") {
		t.Error("the policy does not allow the page's own style: the browser would show it bare")
	}
}

func TestDocsRefuseABrokenDocument(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty":     "",
		"no YAML":   "a: [",
		"no title":  "openapi: 3.1.0",
		"reference": strings.Replace(string(spec.OpenAPI), "schemas/DraftCreated'", "schemas/Nowhere'", 1),
		"tag":       strings.Replace(string(spec.OpenAPI), "tags: [Missions]", "tags: [Others]", 1),
	} {
		if _, err := Render([]byte(text)); err == nil {
			t.Errorf("%s: got a page, want an error", name)
		}
	}
}

func TestProse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ prose, want string }{
		{"One\ntwo.\n\nThree.", "<p>One\ntwo.</p>\n<p>Three.</p>\n"},
		{"`a<b` **c** *d* [e](#f)", `<p><code>a&lt;b</code> <strong>c</strong> <em>d</em> <a href="#f">e</a></p>` + "\n"},
		{"[x](javascript:alert(1))", `<p><a href="">x</a></p>` + "\n"},
		{`<img src=x onerror="y"> & 'z'`, "<p>&lt;img src=x onerror=&quot;y&quot;&gt; &amp; 'z'</p>\n"},
		{"2 * 3 * 4", "<p>2 * 3 * 4</p>\n"},
		{"- a\n  b\n- c\n\nd", "<ul>\n<li>a\nb</li>\n<li>c</li>\n</ul>\n<p>d</p>\n"},
		{"```js\n## <no heading>\n\n- x\n```\nafter", `<pre><code class="language-js">## &lt;no heading&gt;` + "\n\n- x\n</code></pre>\n<p>after</p>\n"},
		{"```\nnever closed", "<pre><code>never closed\n</code></pre>\n"},
		{"| a | b |\n|---|---|\n| `c` | d |", `<div class="scroll"><table>` + "\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td><code>c</code></td>\n<td>d</td>\n</tr>\n</tbody>\n</table></div>\n"},
		{"<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"},
		{"<div onclick=x>\ntext\n</div>", "<p>&lt;div onclick=x&gt;\ntext\n&lt;/div&gt;</p>\n"},
		{"[x](data:text/html,y)", `<p><a href="">x</a></p>` + "\n"},
		{"", ""},
	} {
		if got := string(renderProse(c.prose)); got != c.want {
			t.Errorf("%q: got %q, want %q", c.prose, got, c.want)
		}
	}
	lead, headed := sections("Lead.\n\n## One two\n\nText.\n\n```\n## code\n```\n\n## Three\n")
	if lead != "<p>Lead.</p>\n" || len(headed) != 2 || headed[0].ID != "one-two" || headed[1].Title != "Three" {
		t.Errorf("sections: got lead %q and %+v, want the lead and two sections", lead, headed)
	}
}
