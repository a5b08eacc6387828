package project

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"deployer/inventory"
)

// placeholder stands for the content of a file that is not read.
const placeholder = "placeholder"

// pathBeside returns the path of a file that the inventory names: relative to the inventory, or to the home
// directory behind ~/.
func pathBeside(inv *inventory.Inventory, file string) (string, error) {
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		return filepath.Join(home, rest), nil
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(inv.Dir, file)
	}
	return file, nil
}

// readBeside reads a file that the inventory names. A file that files may not open gives the placeholder.
func readBeside(inv *inventory.Inventory, file string, files sourceFiles) (string, error) {
	path, err := pathBeside(inv, file)
	if err != nil {
		return "", err
	}
	content, err := files.readFile(path)
	if errors.Is(err, ErrOutside) {
		return placeholder, nil
	}
	return string(content), err
}
