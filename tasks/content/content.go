// Package content has the preparers that produce a file's content on the controller:
// they render, read or marshal it and pass it to the module file.
package content

import (
	"unicode/utf8"

	"deployer/engine"
	"deployer/tasks/file"
)

// inlineLimit is the maximum size in bytes of content inside a step. Larger content is a
// blob, which many hosts share and which is sent only when the host's file differs.
const inlineLimit = 32 << 10

// fileWith sets the content of f. Bytes that are not UTF-8 cannot be JSON and become a
// blob of any size.
func fileWith(c engine.PrepareContext, content []byte, f file.File) (string, engine.Module, error) {
	switch {
	case len(content) == 0:
		f.Empty = true
	case len(content) > inlineLimit || !utf8.Valid(content):
		f.Blob = c.AddBlob(content)
	default:
		f.Content = new(string(content))
	}
	return "file", &f, nil
}
