package htmlpage

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
)

//go:embed page.html.tmpl
var pageTemplate string

//go:embed page.css
var style string

//go:embed page.js
var script string

var parsed = template.Must(template.New("page").Funcs(template.FuncMap{
	"style":  func() template.CSS { return template.CSS(style) },
	"script": func() template.JS { return template.JS(script) },
	"policy": func() string { return policy },
	"join":   func(names []string) string { return strings.Join(names, ", ") },
}).Parse(pageTemplate))

// policy is the Content-Security-Policy of the page: nothing but its own style and script.
var policy = fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", digest(style), digest(script))

// digest returns the hash of the content of an element, as a policy writes it.
func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	if err := parsed.Execute(out, p); err != nil {
		return err
	}
	return out.Flush()
}
