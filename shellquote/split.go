package shellquote

import (
	"fmt"
	"strings"
)

// Split returns the words of a line as a POSIX shell splits it: at blanks, with quotes and
// backslashes. Split expands nothing. A quote without its end and a backslash at the end
// are errors.
func Split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false // a word has begun; it may be empty, as in ''
	rest := line
	for rest != "" {
		c := rest[0]
		rest = rest[1:]
		switch c {
		case ' ', '\t', '\n', '\r':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
			continue
		case '\'', '"':
			end, err := quoted(&word, c, rest)
			if err != nil {
				return nil, fmt.Errorf("%w in %s", err, line)
			}
			rest = rest[end:]
		case '\\':
			if rest == "" {
				return nil, fmt.Errorf("a backslash without anything after it in %s", line)
			}
			c, rest = rest[0], rest[1:]
			if c == '\n' { // the line goes on
				continue
			}
			word.WriteByte(c)
		default:
			word.WriteByte(c)
		}
		inWord = true
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// quoted appends the text up to the closing quote to word, and returns the index behind it.
func quoted(word *strings.Builder, quote byte, rest string) (end int, err error) {
	for i := 0; i < len(rest); i++ {
		switch {
		case rest[i] == quote:
			return i + 1, nil
		case quote == '"' && rest[i] == '\\' && i+1 < len(rest) && strings.IndexByte("\"\\$`\n", rest[i+1]) >= 0:
			i++
			if rest[i] != '\n' {
				word.WriteByte(rest[i])
			}
		default:
			word.WriteByte(rest[i])
		}
	}
	return 0, fmt.Errorf("a quote %c that is not closed", quote)
}
