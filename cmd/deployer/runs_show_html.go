package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"deployer/runs/history"
	"deployer/runs/htmlpage"
)

// nameOfRun is the value of --html without a file: RUN.html in the working directory.
const nameOfRun = "RUN.html"

// htmlFlag adds --html.
func htmlFlag(cmd *cobra.Command, file *string) {
	f := cmd.Flags()
	f.StringVar(file, "html", "", "write one HTML `file` with the timeline, the critical path and the waits of the run")
	f.Lookup("html").NoOptDefVal = nameOfRun
}

// checkHTMLFlag refuses an output form beside --html, and a file behind a space, which
// would be taken for a run.
func checkHTMLFlag(file, output string, args []string) error {
	switch {
	case file == "":
		return nil
	case output != "text":
		return errors.New("--html and -o exclude each other")
	case len(args) == 1 && strings.HasSuffix(args[0], ".html"):
		return fmt.Errorf("%q is not the id of a run; write the file of the page as --html=%s", args[0], args[0])
	}
	return nil
}

// writePage writes the page of a run, readable by its owner only, as the log is.
func writePage(e env, r *history.Entry, file string) error {
	p, err := htmlpage.Open(r.Record, r.Path, commandLine(r.Header.Invocation))
	if err != nil {
		return err
	}
	if file == "-" {
		return p.Write(e.stdout)
	}
	if file == nameOfRun {
		file = r.Header.Run + ".html"
	}
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		return err
	}
	if err := writePrivate(file, text.Bytes()); err != nil {
		return fmt.Errorf("writing the page of run %s: %w", r.Header.Run, err)
	}
	fmt.Fprintf(e.stdout, "wrote %s (%.1f MB)\n", file, float64(text.Len())/1e6)
	return nil
}
