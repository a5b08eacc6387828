package docgen

import (
	"fmt"
	"strings"
)

// ExitCode is an exit code of the program with its meaning.
type ExitCode struct {
	Code    int
	Meaning string
}

// ExitCodes returns the page of the exit codes.
func ExitCodes(codes []ExitCode) string {
	var b strings.Builder
	b.WriteString(generated("Exit codes", "the table that the program uses"))
	b.WriteString("\n| Code | Meaning |\n|---|---|\n")
	for _, c := range codes {
		fmt.Fprintf(&b, "| %d | %s |\n", c.Code, cell(c.Meaning))
	}
	return b.String()
}
