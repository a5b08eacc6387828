package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Answer is what Ansible or deployer make of a case: values as JSON has them, by a key
// that names the subject and its property, such as "web1 port" or "file /etc/motd".
type Answer map[string]any

// Own is deployer's answer.
type Own struct {
	Answer Answer
	// Notes are deployer's notes about the case, for messages.
	Notes []string
	// Same reports whether values that differ mean the same, such as a template and its
	// translation; nil when that cannot be.
	Same func(theirs, ours any) bool
	// Listed reports whether the notes name a difference at key. A value is nil where its
	// side has none.
	Listed func(key string, theirs, ours any) bool
}

// Kind is a kind of comparison and the directory of its cases.
type Kind struct {
	Name string // "inventories"; also the directory
	// Ansible asks ansible-core. The directory of the case is an absolute path and must not
	// be changed; work is an empty directory of the case's own.
	Ansible func(ctx context.Context, dir, work string) (Answer, error)
	// Deployer asks deployer, in this process, under the same terms.
	Deployer func(ctx context.Context, dir, work string) (Own, error)
}

// kinds lists the kinds in the order of the last line.
func kinds() []Kind { return []Kind{inventories, conversions} }

// Cases lists the absolute directories of the cases below root, sorted by name.
func (k Kind) Cases(root string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(root, k.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		dir, err := filepath.Abs(filepath.Join(root, k.Name, e.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, dir)
	}
	return out, nil
}

// answerFile holds ansible-core's answer in the directory of a case.
const answerFile = "ansible.json"

// readAnswer reads the stored answer of a case.
func readAnswer(dir string) (Answer, error) {
	data, err := os.ReadFile(filepath.Join(dir, answerFile))
	if err != nil {
		return nil, fmt.Errorf("reading the stored answer (write it with `go run ./test/compare --update %s`): %w", filepath.Base(dir), err)
	}
	return decodeAnswer(data)
}

func decodeAnswer(data []byte) (Answer, error) {
	var out Answer
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // 1 and 1.0 differ
	if err := d.Decode(&out); err != nil {
		return nil, fmt.Errorf("%s: %w", answerFile, err)
	}
	return out, nil
}

// encode prints an answer as answerFile holds it.
func (a Answer) encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(map[string]any(a)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
