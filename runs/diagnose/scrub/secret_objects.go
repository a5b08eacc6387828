package scrub

import (
	"regexp"
	"strings"
)

var (
	// secretYAML is the line that makes a YAML document a Secret, or a list of Secrets.
	secretYAML = regexp.MustCompile(`(?m)^[\s-]*kind:\s*["']?Secret(List)?["']?\s*$`)
	// secretJSON is the same in JSON, which a log may have quoted.
	secretJSON = regexp.MustCompile(`\\*"kind\\*"\s*:\s*\\*"Secret(List)?\\*"`)
	// dataLine begins the values of a Secret.
	dataLine = regexp.MustCompile(`^(\s*)(data|stringData):`)
)

// secretObjects replaces the values of Secret objects: in YAML the blocks data and
// stringData of the document, in JSON the line, or the whole text when it is indented.
func secretObjects(text string) string {
	if !strings.Contains(text, "Secret") {
		return text
	}
	if secretYAML.MatchString(text) {
		documents := strings.Split(text, "\n---")
		for i, d := range documents {
			if secretYAML.MatchString(d) {
				documents[i] = withoutData(d)
			}
		}
		text = strings.Join(documents, "\n---")
	}
	if !secretJSON.MatchString(text) {
		return text
	}
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{\n") || strings.HasPrefix(trimmed, "[\n") {
		return Mark + "\n"
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if at := secretJSON.FindStringIndex(line); at != nil {
			line = line[:strings.IndexAny(line+"{", "{")] + Mark + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// withoutData removes the blocks data and stringData of a YAML document.
func withoutData(document string) string {
	var b strings.Builder
	indent := -1 // of the block that is left out; -1 outside of one
	for line := range strings.Lines(document) {
		here := len(line) - len(strings.TrimLeft(line, " \t"))
		if indent >= 0 && (here > indent || strings.TrimSpace(line) == "") {
			continue
		}
		indent = -1
		if m := dataLine.FindStringSubmatch(line); m != nil {
			indent = len(m[1])
			line = m[0] + " " + Mark + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}
