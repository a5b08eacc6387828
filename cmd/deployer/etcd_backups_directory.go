package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"deployer/tasks/control/snapshot"
)

// backupsInDirectory lists the backups of a directory of this machine, with their MACs.
func backupsInDirectory(dir string) (*backupList, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageError(fmt.Errorf("%s does not exist; name a directory, or an object store as s3://BUCKET/PREFIX", dir))
	}
	if err != nil {
		if info, statErr := os.Stat(dir); statErr == nil && !info.IsDir() {
			return nil, usageError(fmt.Errorf("%s is a file: name the directory of the backups", dir))
		}
		return nil, fmt.Errorf("listing the backups: %w", err)
	}
	var files []backupFile
	for _, e := range entries {
		files = append(files, fileIn(dir, e.Name()))
	}
	list := newBackupList(dir, files, func(name string) string { return filepath.Join(dir, name) })
	for _, b := range list.Backups {
		b.renamed = true
	}
	return list, readMACs(list.Backups, func(b *storedBackup) ([]byte, error) {
		return readAtMost(filepath.Join(dir, b.name+snapshot.MACSuffix), snapshot.MaxMAC)
	})
}

// fileIn describes an entry of a directory. Links are followed.
func fileIn(dir, name string) backupFile {
	info, err := os.Stat(filepath.Join(dir, name))
	switch {
	case err != nil:
		return backupFile{name: name, reason: err.Error()}
	case info.IsDir():
		return backupFile{name: name, reason: "it is a directory"}
	case !info.Mode().IsRegular():
		return backupFile{name: name, reason: "it is no regular file"}
	}
	return backupFile{name: name, written: info.ModTime().UTC(), size: info.Size()}
}

// readAtMost returns the content of a file that has at most limit bytes.
func readAtMost(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return content, err
}
