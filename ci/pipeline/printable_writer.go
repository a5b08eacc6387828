package pipeline

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// printableWriter escapes control characters, which hosts put into their texts: terminals obey
// them, and GitLab takes some for the marks of sections. A Write must have whole lines.
type printableWriter struct{ to io.Writer }

// Write implements io.Writer.
func (w printableWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.to, escapeControls(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// escapeControls escapes the control characters of a text other than line ends and tabs, and the
// characters that change the direction of text.
func escapeControls(text string) string {
	hidden := func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
	}
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
