package sshconfig

import (
	"regexp"
	"strings"
)

// Expand replaces the tokens of ssh_config(5) in a text: %h and the like, and %% for a
// percent sign. An unknown token is an error at pos.
func Expand(pos Pos, text string, tokens map[byte]string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			out.WriteByte(text[i])
			continue
		}
		i++
		if i < len(text) && text[i] == '%' {
			out.WriteByte('%')
			continue
		}
		value, ok := "", false
		if i < len(text) {
			value, ok = tokens[text[i]]
		}
		if !ok {
			return "", pos.Errorf("%q has an unknown token; %%%% stands for a percent sign", text)
		}
		out.WriteString(value)
	}
	return out.String(), nil
}

// plain matches the names that can stand unquoted in a command line.
var plain = regexp.MustCompile(`^[A-Za-z0-9_.:@%+,=/\[\]][A-Za-z0-9_.:@%+,=/\[\]-]*$`)

// ExpandCommand expands tokens in a command line for a shell. A value that the shell
// would interpret is an error. keyword is for messages.
func ExpandCommand(pos Pos, keyword, text string, tokens map[byte]string) (string, error) {
	for _, name := range []byte("hnrk") {
		if strings.Contains(text, "%"+string(name)) && !plain.MatchString(tokens[name]) {
			return "", pos.Errorf("%s: %q is not safe to put into a command", keyword, tokens[name])
		}
	}
	return Expand(pos, text, tokens)
}
