package command

import (
	"fmt"
	"os"
	"path/filepath"

	"deployer/engine"
)

// settled says why nothing has to be run; empty when something has.
func settled(sys engine.System, creates, removes string) (string, error) {
	if creates != "" {
		there, err := exists(sys, creates)
		if err != nil || there {
			return creates + " exists", err
		}
	}
	if removes != "" {
		there, err := exists(sys, removes)
		if err != nil || !there {
			return removes + " does not exist", err
		}
	}
	return "", nil
}

func exists(sys engine.System, pattern string) (bool, error) {
	if !filepath.IsAbs(pattern) {
		return false, fmt.Errorf("path %q is not absolute", pattern)
	}
	if _, err := os.Lstat(sys.Path(pattern)); err == nil {
		return true, nil
	}
	found, err := filepath.Glob(sys.Path(pattern))
	return len(found) > 0, err
}
