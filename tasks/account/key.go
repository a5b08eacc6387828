package account

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// publicKey is a line of an authorized_keys file: options, type, base64, comment.
type publicKey struct{ options, kind, blob, comment string }

var keyType = regexp.MustCompile(`^(ssh-(rsa|dss|ed25519)|ecdsa-sha2-nistp(256|384|521)|sk-(ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com)$|-cert-v01@openssh\.com$`)

// parseKey parses one line; see sshd(8), AUTHORIZED_KEYS FILE FORMAT. parseKey fails when the
// blob does not belong to the type, as in a truncated key.
func parseKey(line string) (publicKey, error) {
	words := outsideQuotes(line)
	at := slices.IndexFunc(words, keyType.MatchString)
	if at < 0 || at > 1 || at+1 == len(words) {
		return publicKey{}, fmt.Errorf("%q is not a public key such as \"ssh-ed25519 AAAA... comment\"", shorten(line))
	}
	k := publicKey{options: strings.Join(words[:at], " "), kind: words[at], blob: words[at+1], comment: strings.Join(words[at+2:], " ")}
	raw, err := base64.StdEncoding.DecodeString(k.blob)
	if err != nil || len(raw) < 4 {
		return publicKey{}, fmt.Errorf("the key %q is not base64: it may be truncated", shorten(line))
	}
	if n := int(binary.BigEndian.Uint32(raw)); n > len(raw)-4 || string(raw[4:4+n]) != k.kind {
		return publicKey{}, fmt.Errorf("the key %q does not belong to its type: it may be truncated", shorten(line))
	}
	return k, nil
}

func shorten(line string) string {
	if len(line) > 60 {
		return line[:60] + "..."
	}
	return line
}

// outsideQuotes splits at blanks outside of double quotes, which options may have:
// command="echo \"hi\"".
func outsideQuotes(line string) []string {
	var out []string
	quoted, escaped := false, false
	word := strings.Builder{}
	for _, r := range line + " " {
		blank := (r == ' ' || r == '\t') && !quoted
		switch {
		case blank && word.Len() > 0:
			out = append(out, word.String())
			word.Reset()
		case !blank:
			word.WriteRune(r)
		}
		if r == '"' && !escaped {
			quoted = !quoted
		}
		escaped = r == '\\' && !escaped
	}
	return out
}

// same reports whether two lines have the same key.
func (k publicKey) same(other publicKey) bool { return k.kind == other.kind && k.blob == other.blob }

func (k publicKey) line() string {
	var words []string
	for _, w := range []string{k.options, k.kind, k.blob, k.comment} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ") + "\n"
}

// edit returns the wanted content of an authorized_keys file. Lines that are not keys
// stay; a key with other options gets the wanted options in place; duplicates are
// removed.
func edit(content string, keys []publicKey, absent, exclusive bool) string {
	var b strings.Builder
	placed := make([]bool, len(keys))
	for line := range strings.Lines(content) {
		text := strings.TrimSpace(line)
		have, err := parseKey(text)
		if text == "" || strings.HasPrefix(text, "#") || err != nil {
			b.WriteString(strings.TrimRight(line, "\n") + "\n")
			continue
		}
		i := slices.IndexFunc(keys, have.same)
		switch {
		case i < 0 && exclusive, i >= 0 && (absent || placed[i]):
		case i < 0 || have.options == keys[i].options:
			b.WriteString(strings.TrimRight(line, "\n") + "\n")
		default:
			b.WriteString(keys[i].line())
		}
		if i >= 0 {
			placed[i] = true
		}
	}
	for i, k := range keys {
		if !placed[i] && !absent {
			b.WriteString(k.line())
		}
	}
	return b.String()
}
