package redact

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// Set holds secrets in all their forms. Set is safe for concurrent use; a nil Set
// holds none.
type Set struct {
	mu    sync.RWMutex
	known map[form]bool
	heads index // by their first four bytes
	tails index // by their last four bytes
	// most is the length of the longest form in bytes.
	most int
}

// NewSet makes a set of secrets. Texts of less than 4 bytes are left out.
func NewSet(secrets ...string) *Set {
	s := &Set{known: map[form]bool{}, heads: newIndex(), tails: newIndex()}
	s.Add(secrets...)
	return s
}

// Add adds secrets, and each of their long lines, to the set.
func (s *Set) Add(secrets ...string) { s.addAll(secrets, isLong) }

func (s *Set) addAll(secrets []string, wanted func(line string) bool) {
	for _, secret := range secrets {
		if len(secret) < shortest {
			continue
		}
		all := forms(secret, wanted) // before the lock is taken
		s.mu.Lock()
		for _, f := range all {
			s.add(f)
		}
		s.mu.Unlock()
	}
}

func (s *Set) add(f form) {
	if s.known[f] {
		return
	}
	s.known[f] = true
	s.heads.add(f, 0)
	s.tails.add(f, len(f.text)-shortest)
	s.most = max(s.most, len(f.text))
}

// Empty reports whether the set has no secrets.
func (s *Set) Empty() bool {
	if s == nil {
		return true
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.known) == 0
}

// Text returns a text with [Mark] in the place of every secret.
func (s *Set) Text(text string) string {
	if s == nil || len(text) < shortest {
		return text
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.known) == 0 {
		return text
	}
	return marked(text, slices.Concat(s.whole(text), s.wrapped(text), s.cut(text)))
}

// span is a part of a text, from its first byte to behind its last.
type span struct{ from, to int }

// marked replaces parts of a text by marks; adjacent parts get one mark.
func marked(text string, parts []span) string {
	if len(parts) == 0 {
		return text
	}
	slices.SortFunc(parts, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out strings.Builder
	done := 0
	for i := 0; i < len(parts); {
		part := parts[i]
		for i++; i < len(parts) && parts[i].from <= part.to; i++ {
			part.to = max(part.to, parts[i].to)
		}
		out.WriteString(text[done:part.from])
		out.WriteString(Mark)
		done = part.to
	}
	out.WriteString(text[done:])
	return out.String()
}

// whole finds the forms in a text. whole searches at every offset, also within a form that was
// found, because another form may begin there and end later.
func (s *Set) whole(text string) []span {
	var out []span
	for i := 0; i+shortest <= len(text); i++ {
		for _, f := range s.heads.at(text, i) {
			if strings.HasPrefix(text[i:], f.text) {
				out = append(out, f.span(text, i))
				break
			}
		}
	}
	return out
}

// span returns the part of a text to replace when the form is at i.
func (f form) span(text string, i int) span {
	from, to := i, i+len(f.text)
	if f.run {
		for from > 0 && text[from-1] != '=' && isBase64(text[from-1]) {
			from--
		}
		for to < len(text) && isBase64(text[to]) {
			to++
		}
	}
	return span{from, to}
}

func isBase64(c byte) bool { return isAlnum(c) || strings.IndexByte("+/-_=", c) >= 0 }
