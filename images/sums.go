package images

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"path"
	"strings"
)

// parseSums finds the SHA-256 of the file called name in the checksum file of a
// publisher. Two forms are in use: the bare digest alone, and lines of "digest  name"
// as sha256sum prints them, where the name may have a star or a directory in front.
func parseSums(content []byte, name string) (string, error) {
	lines := bufio.NewScanner(bytes.NewReader(content))
	var found []string
	words := 0
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		words += len(fields)
		switch {
		case len(fields) == 1 && isSHA256(fields[0]):
			found = append(found, strings.ToLower(fields[0]))
		case len(fields) == 2 && isSHA256(fields[0]) && path.Base(strings.TrimPrefix(fields[1], "*")) == name:
			return strings.ToLower(fields[0]), nil
		}
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("checksum file: %w", err)
	}
	// A bare digest counts only when it is the whole content.
	if len(found) == 1 && words == 1 {
		return found[0], nil
	}
	return "", fmt.Errorf("checksum file has no SHA-256 for %s", name)
}

func isSHA256(word string) bool {
	raw, err := hex.DecodeString(word)
	return err == nil && len(raw) == 32
}
