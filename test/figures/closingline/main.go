// Command closingline prints the closing line of the figures that tests have recorded:
//
//	closingline NAME FILE
//
// A file that does not exist has no records.
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"deployer/test/figures"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: closingline NAME FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "closingline:", err)
		os.Exit(1)
	}
}

func run(name, path string, out io.Writer) error {
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	line, err := figures.Summary(name, strings.NewReader(string(content)))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, line)
	return err
}
