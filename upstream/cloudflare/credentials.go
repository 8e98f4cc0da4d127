package cloudflare

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"unicode"
)

// A Secret is a text that no log, error or dump shows: every verb of fmt, and JSON,
// print a placeholder.
type Secret string

const hidden = "(hidden)"

// Format implements fmt.Formatter.
func (s Secret) Format(state fmt.State, _ rune) {
	if s != "" {
		fmt.Fprint(state, hidden)
	}
}

// MarshalText implements encoding.TextMarshaler, which log/slog and JSON ask.
func (s Secret) MarshalText() ([]byte, error) { return fmt.Append(nil, s), nil }

// Credentials are what Cloudflare knows an account by: a token, or the key of a user
// with their address.
type Credentials struct {
	// Token is an API token, or "file:" and the path of a file that holds one. The
	// file is read for each call, so that a token can change while the program runs.
	Token Secret
	// Key and Email are a user's global key, which may do everything; they count only
	// where Token is empty.
	Key, Email Secret
}

// FromEnvironment reads the variables that external-dns reads: CF_API_TOKEN, or else
// CF_API_KEY and CF_API_EMAIL. getenv is os.Getenv but in tests.
func FromEnvironment(getenv func(string) string) Credentials {
	get := func(name string) Secret { return Secret(strings.TrimSpace(getenv(name))) }
	return Credentials{Token: get("CF_API_TOKEN"), Key: get("CF_API_KEY"), Email: get("CF_API_EMAIL")}
}

const filePrefix = "file:"

// errNoCredentials names the variables, since there is no flag for secrets.
var errNoCredentials = errors.New("no credentials for Cloudflare were found: set CF_API_TOKEN to an API token, or to file: and the path of a file that holds one")

// check returns in one sentence what is wrong.
func (c *Credentials) check() error {
	switch {
	case c.Token != "":
		_, err := c.token()
		return err
	case c.Key == "" && c.Email == "":
		return errNoCredentials
	case c.Key == "":
		return errors.New("CF_API_EMAIL is set without CF_API_KEY: set both, or better CF_API_TOKEN alone")
	case c.Email == "":
		return errors.New("CF_API_KEY is set without CF_API_EMAIL: set both, or better CF_API_TOKEN alone")
	case !isHeader(string(c.Key)) || !isHeader(string(c.Email)):
		return errors.New("CF_API_KEY and CF_API_EMAIL must be of printable ASCII")
	}
	return nil
}

// token returns the token as it is now.
func (c *Credentials) token() (string, error) {
	text := string(c.Token)
	from := "CF_API_TOKEN"
	if path, isFile := strings.CutPrefix(text, filePrefix); isFile {
		content, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("the file that CF_API_TOKEN names can't be read: %w", err)
		}
		text, from = strings.TrimSpace(string(content)), "the file that CF_API_TOKEN names"
	}
	if text == "" {
		return "", fmt.Errorf("%s is empty: put an API token into it", from)
	}
	if !isHeader(text) {
		return "", fmt.Errorf("%s holds more than an API token, which is of printable ASCII without blanks", from)
	}
	return text, nil
}

func isHeader(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII || r <= ' ' || r == 0x7f })
}

// sign puts the credentials into a request and returns the secrets in it.
func (c *Credentials) sign(request *http.Request) (secrets []string, err error) {
	if c.Token == "" {
		request.Header.Set("X-Auth-Key", string(c.Key))
		request.Header.Set("X-Auth-Email", string(c.Email))
		return []string{string(c.Key), string(c.Email)}, nil
	}
	token, err := c.token()
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	return []string{token}, nil
}
