package compile

import "slices"

// WordsOfAnsible is the error of a playbook with modules or keywords of Ansible: it was
// probably written for Ansible.
type WordsOfAnsible struct {
	Words []string // sorted, each once
	Err   error    // the errors of the playbook
}

// Error returns the errors of the playbook.
func (w *WordsOfAnsible) Error() string { return w.Err.Error() }

// Unwrap returns Err.
func (w *WordsOfAnsible) Unwrap() error { return w.Err }

// withWordsOfAnsible wraps err when there are such words.
func withWordsOfAnsible(err error, words []string) error {
	if len(words) == 0 {
		return err
	}
	words = slices.Sorted(slices.Values(words))
	return &WordsOfAnsible{slices.Compact(words), err}
}
