package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Parse reads one YAML document and returns its root node, with anchors and
// merge keys resolved. An empty document gives a null node; one that SOPS or
// ansible-vault has encrypted is an error. The error is of
// type Errors. file is only used in messages.
func Parse(file string, data []byte) (root *yaml.Node, err error) {
	// The scanner of yaml.v3 may panic; no input may end the program.
	defer func() {
		if p := recover(); p != nil {
			root, err = nil, Errors{{File: file, Line: 1, Msg: fmt.Sprintf("not YAML: %v", p)}}
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: 1, Column: 1}, nil
	case err != nil:
		return nil, Errors{syntaxError(file, data, err)}
	}
	root = content(&doc)
	if err := encrypted(file, data, root); err != nil {
		return nil, err
	}
	var second yaml.Node
	if err := dec.Decode(&second); err == nil && !isNull(content(&second)) {
		return nil, Errors{At(file, content(&second)).Errorf("a second document starts here; " +
			"one file holds one document: remove the line with ---, or use two files")}
	} else if err != nil && !errors.Is(err, io.EOF) {
		return nil, Errors{syntaxError(file, data, err)}
	}
	if bytes.ContainsRune(data, '*') || bytes.Contains(data, []byte("<<")) {
		return expand(file, root)
	}
	return root, nil
}

// content takes a node out of the document node around it.
func content(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		return n.Content[0]
	}
	return n
}

func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == 0 || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// syntaxError turns a message of yaml.v3 into an error with a position.
func syntaxError(file string, data []byte, err error) *Error {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if m := regexp.MustCompile(`^line (\d+): `).FindStringSubmatch(msg); m != nil {
		line, _ = strconv.Atoi(m[1])
		msg = msg[len(m[0]):]
		if strings.HasPrefix(msg, "did not find expected") {
			line++ // errors of the parser, unlike those of the scanner, count lines from 0
		}
	}
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	e := &Error{File: file, Line: min(line, len(lines)), Msg: "not YAML: " + msg}
	e.addHint(data, lines)
	return e
}

// addHint improves the messages for the mistakes that people make most.
func (e *Error) addHint(data []byte, lines [][]byte) {
	text := lines[e.Line-1]
	indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
	// A bracket inside a plain word of a flow list ends the word for YAML.
	// YAML blames the line where the list begins, so the word is there or below.
	start := len(bytes.Join(lines[:e.Line-1], []byte("\n")))
	bracket := regexp.MustCompile(`[\[{,]\s*([\w.-]+\[[\d:]+\][\w.-]*)`).FindSubmatchIndex(data[start:])
	switch m := regexp.MustCompile(`unknown anchor '(.*)' referenced`).FindStringSubmatch(e.Msg); {
	case m != nil:
		e.Msg = fmt.Sprintf("unknown anchor %q; define it with &%s further up, or quote the value if the * is part of it", m[1], m[1])
		e.place(data, bytes.Index(data, []byte("*"+m[1])))
	case bytes.ContainsRune(indent, '\t'):
		e.Col = bytes.IndexByte(text, '\t') + 1
		e.Msg = "not YAML: indented with a tab; use spaces"
	case strings.Contains(e.Msg, "did not find expected ','") && bracket != nil:
		word := data[start+bracket[2] : start+bracket[3]]
		e.Msg = fmt.Sprintf("not YAML: a range inside [ ] or { } needs quotes: %q; or write the list with dashes", word)
		e.place(data, start+bracket[2])
	case strings.Contains(e.Msg, "mapping values are not allowed"):
		e.Msg += "; check the indentation, and quote values that contain a colon and a space"
	}
}

// place sets line and column from an offset into data.
func (e *Error) place(data []byte, offset int) {
	if offset < 0 {
		return
	}
	before := data[:offset]
	e.Line = bytes.Count(before, []byte("\n")) + 1
	e.Col = offset - bytes.LastIndexByte(before, '\n')
}
