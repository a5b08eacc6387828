package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing/fstest"

	"gopkg.in/yaml.v3"

	"deployer/ansible/convert"
	"deployer/ansible/jinja"
	"deployer/engine/lang"
	"deployer/strictyaml"
)

// expressionsFile makes a conversion a list of expressions, conditions and template
// files, which are evaluated with the case's variables.
const expressionsFile = "expressions.yaml"

//go:embed expressions.py
var expressionsProgram string

// expressionCase is the content of an expressionsFile.
type expressionCase struct {
	Vars map[string]any `yaml:"vars"`
	// Expressions are compared as a value, {{ EXPRESSION }}, and inside of a text, in a
	// playbook and in a template file.
	Expressions []string `yaml:"expressions"`
	Conditions  []string `yaml:"conditions"`
	Templates   []string `yaml:"templates"`
}

func isExpressions(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, expressionsFile))
	return err == nil
}

// askExpressions has Ansible's own Templar evaluate the expressions.
func askExpressions(ctx context.Context, dir, work string) (Answer, error) {
	cmd := exec.CommandContext(ctx, "/usr/bin/python3", "-c", expressionsProgram, filepath.Join(dir, expressionsFile)) //nolint:gosec // the program is a constant
	cmd.Dir = work
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + work, "LC_ALL=C.UTF-8", "PYTHONWARNINGS=ignore"}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("python3: %w", err)
	}
	return decodeAnswer(out)
}

// refused is the answer to an expression that is an error.
var refused = map[string]any{"error": true}

// convertExpressions translates the expressions and evaluates the translations. A
// translation that has a note, and one that fails when it is evaluated, is listed.
func convertExpressions(dir string) (Own, error) {
	data, err := os.ReadFile(filepath.Join(dir, expressionsFile))
	if err != nil {
		return Own{}, err
	}
	var c expressionCase
	if err := yaml.Unmarshal(data, &c); err != nil {
		return Own{}, err
	}
	kinds := &convert.Kinds{}
	if err := addKinds(kinds, data); err != nil {
		return Own{}, err
	}
	translator := jinja.Translator{NeedsDot: lang.NeedsDot, KindOf: kinds.Of}
	e := &evaluation{translator: translator, vars: c.Vars, answer: Answer{}, listed: map[string]bool{}}
	for _, src := range c.Expressions {
		e.value("value {{ "+src+" }}", "{{ "+src+" }}")
		e.text("text <{{ "+src+" }}>", "<{{ "+src+" }}>")
		e.file("file <{{ "+src+" }}>", "<{{ "+src+" }}>")
	}
	for _, src := range c.Conditions {
		e.condition("condition "+src, src)
		e.file("file if "+src, "{% if "+src+" %}True{% else %}False{% endif %}")
	}
	for _, src := range c.Templates {
		e.file("template "+src, src)
	}
	return Own{Answer: e.answer, Notes: e.notes, Listed: func(key string, _, _ any) bool { return e.listed[key] }}, nil
}

// addKinds adds the kinds of the case's variables.
func addKinds(kinds *convert.Kinds, data []byte) error {
	var c struct {
		Vars yaml.Node `yaml:"vars"`
	}
	err := yaml.Unmarshal(data, &c)
	kinds.Add(&c.Vars)
	return err
}

// evaluation collects the answers to the expressions of a case.
type evaluation struct {
	translator jinja.Translator
	vars       map[string]any
	answer     Answer
	listed     map[string]bool
	notes      []string
}

// give records an answer. A translation that has a note or fails is listed.
func (e *evaluation) give(key string, v any, problems []jinja.Problem, err error) {
	for _, p := range problems {
		e.notes = append(e.notes, key+": "+p.Error())
	}
	if err != nil {
		e.notes = append(e.notes, key+": "+err.Error())
		v = refused
	}
	e.answer[key], e.listed[key] = v, len(problems) > 0 || err != nil
}

func (e *evaluation) value(key, src string) {
	out, problems := e.translator.PlaybookText(src)
	t, err := lang.CompileInterpolation(out, lang.Origin{Start: strictyaml.Pos{File: "play.yaml", Line: 1, Col: 1}})
	var v any
	if err == nil {
		v, err = t.Value(e.vars)
	}
	switch n := v.(type) { // Ansible has a number as a text
	case int:
		v = strconv.Itoa(n)
	case float64:
		v = strconv.FormatFloat(n, 'g', -1, 64)
	}
	e.give(key, v, problems, err)
}

func (e *evaluation) text(key, src string) {
	out, problems := e.translator.PlaybookText(src)
	t, err := lang.CompileInterpolation(out, lang.Origin{Start: strictyaml.Pos{File: "play.yaml", Line: 1, Col: 1}})
	v := ""
	if err == nil {
		v, err = t.Text(e.vars)
	}
	e.give(key, v, problems, err)
}

func (e *evaluation) condition(key, src string) {
	out, notes, err := e.translator.Condition(src)
	var problems []jinja.Problem
	for _, note := range notes {
		problems = append(problems, jinja.Problem{Line: 1, Text: src, Err: errors.New(note), Differs: true})
	}
	if err != nil {
		e.give(key, false, nil, err)
		return
	}
	c, err := lang.CompileExpr(out, lang.Origin{Start: strictyaml.Pos{File: "play.yaml", Line: 1, Col: 1}})
	v := false
	if err == nil {
		v, err = c.Bool(e.vars)
	}
	e.give(key, v, problems, err)
}

func (e *evaluation) file(key, src string) {
	out, problems := e.translator.Text(src)
	tree := lang.Tree{Name: "templates", FS: fstest.MapFS{"t.tmpl": {Data: []byte(out)}, "part.tmpl": {Data: []byte("<part>")}}}
	files := lang.NewFiles("a role", "", func(string) fs.FS { return fstest.MapFS{} }, lang.SearchDir{Tree: tree, Dir: ".", Templates: true})
	t, err := files.Template("t.tmpl")
	v := ""
	if err == nil {
		v, err = t.Text(e.vars)
	}
	e.give(key, v, problems, err)
}
