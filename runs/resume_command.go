package runs

import "deployer/shellquote"

// ResumeCommand returns the command that continues a run; withheld are the variables
// whose values the user has to repeat.
func ResumeCommand(run string, withheld []string) string {
	text := "deployer resume " + run
	for _, name := range withheld {
		text += " -e " + shellquote.Word(name) + "=..."
	}
	return text
}
