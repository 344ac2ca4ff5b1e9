package main

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// pageView is the data of page.html.
type pageView struct {
	Style                   template.CSS
	Title, Version, Summary string
	Lead                    template.HTML
	Sections                []sectionView
	Groups                  []groupView
	Objects                 []objectView
	Headers                 []fieldView // of all answers
	Codes, Reserved         []codeView
}

type groupView struct {
	Name       string
	About      template.HTML
	Operations []operationView
}

type operationView struct {
	ID, Method, Path, Summary string
	About                     template.HTML
	Signed                    bool
	Parameters                []fieldView
	Body                      *bodyView
	Answers                   []answerView // successful ones
	Errors                    []answerView
}

type answerView struct {
	Status, Text string
	About        template.HTML
	Headers      []string
	Body         *bodyView
	Codes        []string // of errors
}

type bodyView struct {
	MediaType string
	Schema    string // name; may be empty
	Repeated  bool   // the fields were shown before
	About     template.HTML
	Fields    []fieldView
	Examples  []exampleView
}

type exampleView struct{ Summary, JSON string }

type objectView struct {
	Name   string
	About  template.HTML
	Fields []fieldView
}

type codeView struct {
	Code, Status string
	Retry        bool
	Action       template.HTML
}

// node is a value of the document. The zero value is an absent value, whose members are absent.
type node struct{ *yaml.Node }

func (n node) get(name string) node {
	if n.Node == nil || n.Kind != yaml.MappingNode {
		return node{}
	}
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return node{n.Content[i+1]}
		}
	}
	return node{}
}

func (n node) at(names ...string) node {
	for _, name := range names {
		n = n.get(name)
	}
	return n
}

func (n node) absent() bool { return n.Node == nil }

func (n node) text() string {
	if n.Node == nil {
		return ""
	}
	return n.Value
}

func (n node) isTrue() bool { return n.text() == "true" }

func (n node) prose() template.HTML { return renderProse(n.text()) }

// items returns the elements of a list; a single value is a list of one.
func (n node) items() []node {
	if n.Node == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		return []node{n}
	}
	items := make([]node, len(n.Content))
	for i, item := range n.Content {
		items[i] = node{item}
	}
	return items
}

func (n node) texts() []string {
	var texts []string
	for _, item := range n.items() {
		texts = append(texts, item.Value)
	}
	return texts
}

// members visits a mapping in the order of the document.
func (n node) members(visit func(name string, value node)) {
	if n.Node == nil || n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i < len(n.Content); i += 2 {
		visit(n.Content[i].Value, node{n.Content[i+1]})
	}
}

// reader converts the document into a page. It keeps the first error.
type reader struct {
	root    node
	headers []fieldView
	shown   []string // the schemas whose fields an operation shows
	objects []string // the schemas that a field links to, in order of appearance
	err     error
}

// follow resolves a reference and returns its target and the last part of its name. A value that is
// not a reference is returned as it is.
func (d *reader) follow(n node) (target node, name string) {
	reference := n.get("$ref").text()
	if reference == "" {
		return n, ""
	}
	steps := strings.Split(strings.TrimPrefix(reference, "#/"), "/")
	target = d.root.at(steps...)
	if target.absent() {
		d.err = cmp.Or(d.err, fmt.Errorf("reference %s cannot be resolved", reference))
	}
	return target, steps[len(steps)-1]
}

func (d *reader) page() pageView {
	info := d.root.get("info")
	page := pageView{Title: info.get("title").text(), Version: info.get("version").text(), Summary: info.get("summary").text()}
	if page.Title == "" {
		d.err = errors.New("info.title is missing")
	}
	page.Lead, page.Sections = sections(info.get("description").text())
	page.Groups = d.groups()
	page.Codes, page.Reserved = d.codes()
	page.Headers = d.headers
	d.link("Error")
	for i := 0; i < len(d.objects); i++ { // reading one may add others
		schema := d.root.at("components", "schemas", d.objects[i])
		page.Objects = append(page.Objects, objectView{
			Name: d.objects[i], About: schema.get("description").prose(), Fields: markOptional(d.fields(schema)),
		})
	}
	return page
}

func (d *reader) groups() []groupView {
	var groups []groupView
	for _, tag := range d.root.get("tags").items() {
		groups = append(groups, groupView{Name: tag.get("name").text(), About: tag.get("description").prose()})
	}
	d.root.get("paths").members(func(path string, methods node) {
		methods.members(func(method string, operation node) {
			tags := operation.get("tags").texts()
			at := slices.IndexFunc(groups, func(g groupView) bool { return slices.Contains(tags, g.Name) })
			if at < 0 {
				d.err = cmp.Or(d.err, fmt.Errorf("%s %s has no tag of the document", method, path))
				return
			}
			groups[at].Operations = append(groups[at].Operations, d.operation(strings.ToUpper(method), path, operation))
		})
	})
	return groups
}

func (d *reader) operation(method, path string, n node) operationView {
	security := n.get("security")
	operation := operationView{
		ID: n.get("operationId").text(), Method: method, Path: path, Summary: n.get("summary").text(),
		About: n.get("description").prose(), Signed: security.absent() || len(security.Content) > 0,
	}
	for _, reference := range n.get("parameters").items() {
		parameter, _ := d.follow(reference)
		field := d.field(parameter.get("name").text(), parameter.get("schema"), parameter.get("required").isTrue())
		field.In = parameter.get("in").text()
		field.About = parameter.get("description").prose()
		operation.Parameters = append(operation.Parameters, field)
	}
	if body := n.get("requestBody"); !body.absent() {
		body, _ = d.follow(body)
		operation.Body = d.body(body)
		markRequired(operation.Body.Fields)
	}
	markRequired(operation.Parameters)
	n.get("responses").members(func(status string, reference node) {
		response, _ := d.follow(reference)
		answer := answerView{Status: status, About: response.get("description").prose(), Headers: d.answerHeaders(response.get("headers"))}
		if code, err := strconv.Atoi(status); err == nil {
			answer.Text = http.StatusText(code)
		}
		if status >= "400" {
			answer.Codes = errorCodes(response.at("content", "application/json", "schema"))
			operation.Errors = append(operation.Errors, answer)
			return
		}
		if answer.Body = d.body(response); answer.Body != nil {
			answer.Body.About = ""
			markOptional(answer.Body.Fields)
		}
		operation.Answers = append(operation.Answers, answer)
	})
	return operation
}

// answerHeaders returns the names of an answer's headers. Most are the same for many answers, so
// they are described once, in their own table.
func (d *reader) answerHeaders(n node) []string {
	var names []string
	n.members(func(name string, reference node) {
		names = append(names, name)
		if slices.ContainsFunc(d.headers, func(known fieldView) bool { return known.Name == name }) {
			return
		}
		header, _ := d.follow(reference)
		field := d.field(name, header.get("schema"), header.get("required").isTrue())
		field.About = header.get("description").prose()
		d.headers = append(d.headers, field)
	})
	return names
}

// body returns the content of a request or response. Only the first media type is described.
func (d *reader) body(n node) *bodyView {
	var body *bodyView
	n.get("content").members(func(mediaType string, content node) {
		if body != nil {
			body.MediaType += ", " + mediaType
			return
		}
		schema, name := d.follow(content.get("schema"))
		body = &bodyView{MediaType: mediaType, Schema: name, Repeated: slices.Contains(d.shown, name), About: n.get("description").prose()}
		if body.Repeated {
			return
		}
		if name != "" {
			d.shown = append(d.shown, name)
		}
		body.Fields = d.fields(schema)
		content.get("examples").members(func(_ string, reference node) {
			example, _ := d.follow(reference)
			var text strings.Builder
			writeJSON(&text, example.get("value"), "")
			body.Examples = append(body.Examples, exampleView{Summary: example.get("summary").text(), JSON: text.String()})
		})
	})
	return body
}

// errorCodes returns the codes that a response's schema allows, at any depth.
func errorCodes(schema node) []string {
	code := schema.at("properties", "code")
	codes := append(code.get("const").texts(), code.get("enum").texts()...)
	parts := append(schema.get("allOf").items(), schema.get("oneOf").items()...)
	if inner := schema.at("properties", "error"); !inner.absent() {
		parts = append(parts, inner)
	}
	for _, part := range parts {
		codes = append(codes, errorCodes(part)...)
	}
	return codes
}

func (d *reader) codes() (served, reserved []codeView) {
	d.root.at("components", "schemas", "ErrorCode", "x-codes").members(func(name string, n node) {
		code := codeView{Code: name, Status: n.get("status").text(), Retry: n.get("retry").isTrue(), Action: n.get("action").prose()}
		if n.get("reserved").isTrue() {
			reserved = append(reserved, code)
		} else {
			served = append(served, code)
		}
	})
	return served, reserved
}
