package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"deployer/engine/schedule"
	"deployer/inventory"
)

// confirm asks before each task of a run with --step. What is no answer is asked
// again; the end of the input is no.
func confirm(in io.Reader, out io.Writer) func(context.Context, string, []string) schedule.Answer {
	lines := bufio.NewScanner(in)
	return func(ctx context.Context, task string, hosts []string) schedule.Answer {
		for ctx.Err() == nil {
			fmt.Fprintf(out, "%q on %s? [y]es, [n]o, [c]ontinue without asking: ", task, inventory.CompressText(hosts))
			if !lines.Scan() {
				fmt.Fprintln(out)
				return schedule.No
			}
			switch strings.ToLower(strings.TrimSpace(lines.Text())) {
			case "y", "yes":
				return schedule.Yes
			case "n", "no":
				return schedule.No
			case "c", "continue":
				return schedule.Rest
			}
		}
		return schedule.No
	}
}
