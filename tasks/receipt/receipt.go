// Package receipt records on the host what was installed from which source, so that
// a later run finds without a download or a hash that nothing changed. A receipt is
// only a shortcut: when it does not match, the files are compared.
package receipt

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"deployer/engine"
	"deployer/tasks/hostfile"
)

// Dir is the directory of receipts on the host.
const Dir = "/var/lib/deployer/receipts"

// Stamp identifies the state of a file without reading it.
type Stamp struct {
	Size  int64  `json:"size"`
	MTime int64  `json:"mtime_ns"` // Unix time in nanoseconds
	Inode uint64 `json:"inode"`
}

// Take returns the stamp of the host's path, following links.
func Take(sys engine.System, path string) (Stamp, error) {
	info, err := os.Stat(sys.Path(path))
	if err != nil {
		return Stamp{}, err
	}
	return Stamp{Size: info.Size(), MTime: info.ModTime().UnixNano(), Inode: info.Sys().(*syscall.Stat_t).Ino}, nil
}

// Path returns the path of the receipt for a purpose and its subjects. Equal
// arguments give the same path.
func Path(purpose string, about ...string) string {
	raw, _ := json.Marshal(about) // strings always marshal
	sum := sha256.Sum256(raw)
	return filepath.Join(Dir, purpose+"-"+hex.EncodeToString(sum[:12])+".json")
}

// Read reads a receipt. A missing or unreadable receipt is no error: found is false.
func Read(sys engine.System, path string, into any) (found bool) {
	data, err := os.ReadFile(sys.Path(path))
	return err == nil && json.Unmarshal(data, into) == nil
}

// Write replaces a receipt.
func Write(sys engine.System, path string, receipt any) error {
	data, err := json.MarshalIndent(receipt, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(sys.Path(Dir), 0o700); err != nil {
		return fmt.Errorf("making the directory of receipts: %w", err)
	}
	return hostfile.Write(sys, path, bytes.NewReader(append(data, '\n')), hostfile.Access{Mode: "0600"})
}
