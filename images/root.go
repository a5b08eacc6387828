package images

import (
	"fmt"
	"os"
	"path/filepath"
)

// DefaultRoot returns the directory of artifacts on the controller:
// $XDG_CACHE_HOME/deployer, or ~/.cache/deployer.
func DefaultRoot() (string, error) {
	if dir := os.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "deployer"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache directory (set XDG_CACHE_HOME): %w", err)
	}
	return filepath.Join(home, ".cache", "deployer"), nil
}
