package mirror

import (
	"bytes"
	"compress/gzip"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
)

const (
	nonceOctets = 12
	// maxUnpacked bounds what an encrypted text may become: no ownership text is
	// longer than a character-string, and a text can be made by anybody who has the
	// key.
	maxUnpacked = 4096
)

// newCipher reads the key of --txt-encrypt-aes-key: 32 octets as they stand, or
// in base64. The error doesn't hold the key.
func newCipher(key string) (cipher.AEAD, error) {
	raw := []byte(key)
	if len(raw) != 32 {
		decoded, err := base64.StdEncoding.DecodeString(key)
		if err != nil || len(decoded) != 32 {
			return nil, errors.New("the key must be 32 octets, as they are or in base64 (openssl rand -base64 32 makes one)")
		}
		raw = decoded
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// encrypt returns the text as external-dns writes it: packed, sealed by
// AES-256-GCM without additional data, and the nonce before it, in base64. One
// text and one nonce always give the same.
func encrypt(aead cipher.AEAD, text string, nonce []byte) (string, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	// external-dns flushes before it closes, which leaves an empty block in the
	// middle: without it the octets would be others.
	if _, err := w.Write([]byte(text)); err != nil {
		return "", err
	}
	if err := w.Flush(); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	sealed := aead.Seal(bytes.Clone(nonce), nonce, packed.Bytes(), nil)
	return base64.StdEncoding.EncodeToString(sealed), nil
}

// decrypt reverses encrypt and returns the nonce for the next time.
func decrypt(aead cipher.AEAD, text string) (plain string, nonce []byte, err error) {
	sealed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", nil, err
	}
	if len(sealed) <= nonceOctets {
		return "", nil, errors.New("it is too short")
	}
	nonce = sealed[:nonceOctets]
	packed, err := aead.Open(nil, nonce, sealed[nonceOctets:], nil)
	if err != nil {
		return "", nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", nil, err
	}
	octets, err := io.ReadAll(io.LimitReader(r, maxUnpacked+1))
	if err != nil {
		return "", nil, err
	}
	if len(octets) > maxUnpacked {
		return "", nil, fmt.Errorf("it unpacks to more than %d octets", maxUnpacked)
	}
	return string(octets), nonce, r.Close()
}
