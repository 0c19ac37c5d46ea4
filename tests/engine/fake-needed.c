/* What the provider of fake-provider.c needs to be open. */
int fake_needed(void);

int fake_needed(void)
{
    return 0;
}
