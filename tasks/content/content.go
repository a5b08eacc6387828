// Package content has the tasks that make a file's content on the controller:
// they render, read or marshal it and hand it to the file module.
package content

import (
	"unicode/utf8"

	"deployer/engine"
	"deployer/tasks/file"
)

// inlineLimit is the size in bytes up to which content travels inside the step.
// Larger content goes as a blob, which many hosts share and which is sent only
// when the host's file differs.
const inlineLimit = 32 << 10

// fileWith fills in the content of f. Bytes that are not UTF-8 cannot travel in
// JSON and go as a blob whatever their size.
func fileWith(c engine.PrepareContext, content []byte, f file.File) (string, engine.Module, error) {
	switch {
	case len(content) == 0:
		f.Empty = true
	case len(content) > inlineLimit || !utf8.Valid(content):
		f.Blob = c.AddBlob(content)
	default:
		f.Content = string(content)
	}
	return "file", &f, nil
}
