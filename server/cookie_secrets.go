package server

import (
	"bytes"
	"encoding/hex"
	"fmt"
)

// maxCookieSecrets bounds how many secrets a query may be compared with.
const maxCookieSecrets = 8

// ParseCookieSecrets reads the text of a file of secrets: one a line, 16 octets
// as 32 hexadecimal digits, the current one first. Empty lines and those that
// begin with # are left out. The error begins with the number of the line, and
// holds nothing of what stands there.
func ParseCookieSecrets(text []byte) ([]CookieSecret, error) {
	var secrets []CookieSecret
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		var secret CookieSecret
		if len(line) != hex.EncodedLen(len(secret)) {
			return nil, fmt.Errorf("%d: a secret has 32 hexadecimal digits, and this one has %d characters; make one with \"openssl rand -hex 16\"", number, len(line))
		}
		if _, err := hex.Decode(secret[:], line); err != nil {
			return nil, fmt.Errorf("%d: a secret has hexadecimal digits alone; make one with \"openssl rand -hex 16\"", number)
		}
		for _, other := range secrets {
			if other == secret {
				return nil, fmt.Errorf("%d: the secret stands in the file already; write each once, the current one first", number)
			}
		}
		if len(secrets) == maxCookieSecrets {
			return nil, fmt.Errorf("%d: there are more than %d secrets; leave out the oldest ones", number, maxCookieSecrets)
		}
		secrets = append(secrets, secret)
	}
	if len(secrets) == 0 {
		return nil, fmt.Errorf("%d: there is no secret; write one of 32 hexadecimal digits, like \"openssl rand -hex 16\" prints", max(number, 1))
	}
	return secrets, nil
}
