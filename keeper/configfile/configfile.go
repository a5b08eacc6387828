// Package configfile reads configurations that deployer install writes on hosts.
package configfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// maxSize is the maximum size of a configuration in bytes.
const maxSize = 1 << 20

// Read returns the text of a configuration; what is its name in errors, such as "of the keeper".
func Read(path, what string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration %s: %w", what, err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxSize))
	if err != nil {
		return nil, fmt.Errorf("reading the configuration %s: %w", what, err)
	}
	return text, nil
}

// Decode decodes a configuration. Its error names file, line and column.
func Decode(path string, text []byte, into any) error {
	var document yaml.Node
	err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&document)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s is empty: run deployer install", path)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return strictyaml.Decode(path, &document, into)
}
