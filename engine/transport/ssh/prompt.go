package ssh

import "regexp"

// passwordWord matches password prompts: "Password: " of PAM in the languages into
// which Linux-PAM and shadow are translated most, and "(user@host) Password for
// user: " of OpenSSH and BSD.
var passwordWord = regexp.MustCompile(`(?i)password|passwort|kennwort|mot de passe|contrase|senha|palavra.passe|wachtwoord|lösenord|adgangskode|passord|salasana|hasło|heslo|jelszó|parol|пароль|密码|密碼|パスワード|암호|비밀번호`)

// otherWord matches prompts for other secrets: a second factor, a new password, a
// passphrase or PIN.
var otherWord = regexp.MustCompile(`(?i)one.time|\botp\b|token|verification|\bcode\b|\bpin\b|passcode|passphrase|new password|neues passwort|nouveau mot|retype|re-enter|\bagain\b|yubikey`)

// loginName matches user@host, whose names may be any word.
var loginName = regexp.MustCompile(`\S+@\S+|\S+'s `)

// asksForPassword reports whether a prompt of keyboard-interactive asks for the
// password of the login.
func asksForPassword(question string) bool {
	question = loginName.ReplaceAllString(question, "")
	return passwordWord.MatchString(question) && !otherWord.MatchString(question)
}
