package build

import (
	"bufio"
	"errors"
	"io"
	"os"
)

// writeThrough creates the file at path and calls write with it.
func writeThrough(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(file, 1<<20)
	return errors.Join(write(buffered), buffered.Flush(), file.Close())
}

func writeFile(path string, content []byte) error {
	if len(content) == 0 {
		return errors.New("the package does not contain the expected file")
	}
	return os.WriteFile(path, content, 0o755)
}

func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	if err := writeThrough(to, func(w io.Writer) error { _, err := io.Copy(w, source); return err }); err != nil {
		return err
	}
	return os.Chmod(to, 0o755)
}
