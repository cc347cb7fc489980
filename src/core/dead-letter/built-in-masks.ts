/**
 * Names of properties whose values are masked everywhere. The comparison ignores case and punctuation, a final `s` and a final number;
 * `*` stands for any characters.
 */
export const SECRET_NAMES: readonly string[] = [
  '*password',
  '*password_hash',
  '*passwd',
  '*passphrase',
  '*secret',
  '*token',
  '*authorization',
  '*cookie',
  '*credential',
  '*api_key',
  '*access_key',
  '*secret_key',
  '*private_key',
  '*signing_key',
  '*session_id',
  '*card_number',
  '*connection_string',
  'pwd',
  'pass',
  'auth',
  'jwt',
  'otp',
  'pin',
  'cvv',
  'cvc',
  'pan',
  'ssn',
  'iban',
]

/**
 * Names of properties that hold data of a person. `name`, `address` and `mobile` alone are not among them: most of the time
 * a product, a host or a flag has that name. A list with the name `names` is mostly one of people.
 */
export const PERSONAL_NAMES: readonly string[] = [
  '*first_name',
  '*middle_name',
  '*last_name',
  '*full_name',
  '*given_name',
  '*family_name',
  '*maiden_name',
  '*forename',
  '*surname',
  '*customer_name',
  '*recipient_name',
  '*contact_name',
  '*patient_name',
  '*passenger_name',
  '*guest_name',
  '*card_holder',
  '*card_holder_name',
  '*account_holder',
  '*account_holder_name',
  '*name_on_card',
  'names',
  '*phone',
  '*phone_number',
  '*mobile_number',
  '*fax_number',
  'fax',
  'tel',
  'msisdn',
  '*street',
  '*street1',
  '*street2',
  '*street_name',
  '*street_number',
  '*street_address',
  '*house_number',
  '*address_line',
  '*address_line1',
  '*address_line2',
  '*address_line3',
  'address1',
  'address2',
  '*home_address',
  '*postal_address',
  '*mailing_address',
]

/**
 * Below these names, `name` and `holder` are names of people. The comparison ignores the same as that of names, and entries of
 * lists: `Customers[0].Name` is found too.
 */
export const PERSONAL_PATHS: readonly string[] = [
  '**.{customer,user,person,recipient,contact,patient,passenger,guest,buyer,payer,employee}.name',
  '**.{card,account}.holder',
]

/** What the built-in patterns find in texts (mask-text.ts), in words. */
export const SECRET_TEXTS: readonly string[] = [
  'bearer and basic credentials',
  'JSON web tokens',
  'values after password=, token= and their like',
  'cookie and authorization headers',
  'credentials in URLs',
  'e-mail addresses',
  'card numbers',
]

export const PERSONAL_TEXTS: readonly string[] = ['phone numbers that begin with +']
