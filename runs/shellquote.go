package runs

import "strings"

// ResumeCommand is what goes on with a run, for people to type; withheld are the
// variables that they have to give again.
func ResumeCommand(run string, withheld []string) string {
	text := "deployer resume " + run
	for _, name := range withheld {
		text += " -e " + ShellQuote(name) + "=..."
	}
	return text
}

// ShellQuote quotes text for a shell, when it needs that.
func ShellQuote(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n'\"\\$`!*?[]{}()<>|&;#~") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
